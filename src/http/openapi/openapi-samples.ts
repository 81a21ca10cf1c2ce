import type { JsonSchema } from './openapi-portable.ts';

/** Input of the samples: one operation as the document describes it. */
interface SampledOperation {
  readonly 'x-access': string;
  readonly parameters: readonly JsonSchema[];
  readonly requestBody?: JsonSchema;
}

/** One call as it is sent. */
interface Call {
  readonly method: string;
  readonly url: string;
  /** Name of the environment variable that holds the credential; undefined when none is needed. */
  readonly secret: string | undefined;
  /** Media type and example of the body. */
  readonly body: readonly [type: string, example: unknown] | undefined;
}

/** A code sample in the form that ReDoc and similar viewers show. */
interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

const JSON_TYPE = 'application/json';

/** Returns the operation's own example as a call with curl, Python and JavaScript. The credential comes from the environment. */
export function codeSamples(
  serverUrl: string,
  method: string,
  path: string,
  operation: SampledOperation,
): CodeSample[] {
  const call: Call = {
    method: method.toUpperCase(),
    url: serverUrl + pathOf(path, operation.parameters),
    secret: secretOf(operation['x-access']),
    body: bodyOf(operation.requestBody),
  };
  return [
    { lang: 'Shell', label: 'curl', source: curl(call) },
    { lang: 'Python', label: 'Python', source: python(call) },
    { lang: 'JavaScript', label: 'JavaScript', source: javascript(call) },
  ];
}

function secretOf(access: string): string | undefined {
  const secrets: Readonly<Record<string, string>> = { operator: 'ADMIN_TOKEN', worker: 'WORKER_TOKEN' };
  return access === 'public' ? undefined : (secrets[access] ?? 'TOLLGATE_KEY');
}

/** Returns the path with the examples of its required parameters. Optional parameters are left out. */
function pathOf(path: string, parameters: readonly JsonSchema[]): string {
  const needed = parameters.filter(({ required }) => required === true);
  const place = (from: string) => needed.filter((parameter) => parameter.in === from);
  const filled = place('path').reduce(
    (text, { name, example }) => text.replace(`{${String(name)}}`, encodeURI(String(example ?? name))),
    path.replace('+}', '}'),
  );
  const query = place('query').map(
    ({ name, example }) => `${String(name)}=${encodeURIComponent(String(example ?? ''))}`,
  );
  return query.length === 0 ? filled : `${filled}?${query.join('&')}`;
}

function bodyOf(requestBody: JsonSchema | undefined): Call['body'] {
  const content = (requestBody?.content ?? {}) as Readonly<Record<string, { readonly example?: unknown }>>;
  const [first] = Object.entries(content);
  return first && [first[0], first[1].example ?? {}];
}

function curl({ method, url, secret, body }: Call): string {
  const parts = [`curl -sS${method === 'GET' ? '' : ` -X ${method}`} ${quoted(url)}`];
  if (secret) {
    parts.push(`-H "Authorization: Bearer $${secret}"`);
  }
  if (body) {
    const [type, example] = body;
    parts.push(`-H 'Content-Type: ${type}'`, `-d ${quoted(asText(example))}`);
  }
  return parts.join(' \\\n  ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function asText(example: unknown): string {
  return typeof example === 'string' ? example : JSON.stringify(example, null, 2);
}

function python({ method, url, secret, body }: Call): string {
  const given = [`    ${JSON.stringify(url)},`];
  const headers = [
    ...(secret ? [`"Authorization": f"Bearer {os.environ['${secret}']}"`] : []),
    ...(body && body[0] !== JSON_TYPE ? [`"Content-Type": ${JSON.stringify(body[0])}`] : []),
  ];
  if (headers.length > 0) {
    given.push(`    headers={${headers.join(', ')}},`);
  }
  if (body) {
    const [type, example] = body;
    given.push(`    ${type === JSON_TYPE ? 'json' : 'data'}=${pythonLiteral(example, '    ')},`);
  }
  const imports = secret ? 'import os\n\nimport requests' : 'import requests';
  return `${imports}

response = requests.${method.toLowerCase()}(
${given.join('\n')}
    timeout=600,
)
response.raise_for_status()
print(response.text)`;
}

function pythonLiteral(value: unknown, indent: string): string {
  const deeper = `${indent}    `;
  if (Array.isArray(value)) {
    const items = value.map((item) => `${deeper}${pythonLiteral(item, deeper)},\n`);
    return items.length === 0 ? '[]' : `[\n${items.join('')}${indent}]`;
  }
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(
      ([name, member]) => `${deeper}${JSON.stringify(name)}: ${pythonLiteral(member, deeper)},\n`,
    );
    return members.length === 0 ? '{}' : `{\n${members.join('')}${indent}}`;
  }
  return value === null
    ? 'None'
    : value === true
      ? 'True'
      : value === false
        ? 'False'
        : JSON.stringify(value);
}

function javascript({ method, url, secret, body }: Call): string {
  const headers = [
    ...(secret ? [`Authorization: \`Bearer \${process.env.${secret}}\``] : []),
    ...(body ? [`'Content-Type': '${body[0]}'`] : []),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(headers.length === 0 ? [] : [`  headers: { ${headers.join(', ')} },`]),
    ...(body ? [`  body: ${javascriptBody(body)},`] : []),
  ];
  const given = options.length === 0 ? '' : `, {\n${options.join('\n')}\n}`;
  return `const response = await fetch('${url}'${given});
if (!response.ok) {
  throw new Error(await response.text());
}
console.log(await response.text());`;
}

function javascriptBody([type, example]: NonNullable<Call['body']>): string {
  return type === JSON_TYPE
    ? `JSON.stringify(${JSON.stringify(example, null, 2).replaceAll('\n', '\n  ')})`
    : JSON.stringify(asText(example));
}
