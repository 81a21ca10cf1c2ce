import { parseSync } from '@swc/core';

export interface FunctionSize {
  /** First line of the function, by which a reader can find it. */
  readonly head: string;
  /** From the first line to the last, including blank lines and comments. */
  readonly lines: number;
}

/** Returns every function with a body in a TypeScript file, in whatever syntax. Throws when the file cannot be parsed. */
export function functionsOf(path: string, text: string): FunctionSize[] {
  const bytes = Buffer.from(text);
  const found: FunctionSize[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) {
      return;
    }
    if (isFunction(node)) {
      // the parser's byte offsets start at 1
      const written = bytes.subarray(node.span.start - 1, node.span.end - 1).toString();
      const [head = '', ...rest] = written.split('\n');
      found.push({ head, lines: 1 + rest.length });
    }
    Object.values(node).forEach(visit);
  };
  visit(parseSync(text, { syntax: 'typescript', tsx: path.endsWith('.tsx') }));
  return found;
}

/** Methods store their body in a member `function`, which has neither type nor span of its own. */
function isFunction(
  node: object,
): node is { readonly span: { readonly start: number; readonly end: number } } {
  const {
    type,
    body,
    function: method,
  } = node as { type?: string; body?: unknown; function?: { body?: unknown } };
  return (
    (/^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression|Constructor)$/.test(type ?? '') &&
      Boolean(body)) ||
    (/^(?:ClassMethod|PrivateMethod)$/.test(type ?? '') && Boolean(method?.body)) ||
    (/^(?:MethodProperty|GetterProperty|SetterProperty)$/.test(type ?? '') && Boolean(body))
  );
}
