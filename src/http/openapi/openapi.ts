import { z } from 'zod';
import { requestId } from '../input/wire-shapes.ts';
import type { Route } from '../route.ts';
import { ERROR_HEADERS, errorResponses, errorSchemas } from './openapi-errors.ts';
import { type EventDescription, eventOperation } from './openapi-events.ts';
import { type ApiExamples, exampleOf } from './openapi-examples.ts';
import { answerHeaders } from './openapi-headers.ts';
import type { JsonSchema } from './openapi-portable.ts';
import { codeSamples } from './openapi-samples.ts';
import { SchemaRegistry } from './openapi-schemas.ts';

export interface ApiDescription {
  readonly version: string;
  readonly title: string;
  readonly description: string;
  /** Address of this installation; generated clients use it as their default. */
  readonly serverUrl: string;
  /** By tag of the routes. */
  readonly tags?: Readonly<Record<string, string>>;
  readonly examples: ApiExamples;
  /** Events sent to customers' endpoints, by type. */
  readonly events: Readonly<Record<string, EventDescription>>;
}

/** State that the parts of a document share while it is built. */
interface Making {
  readonly serverUrl: string;
  readonly schemas: SchemaRegistry;
  readonly examples: ApiExamples;
}

const SECURITY: Readonly<Record<Route['access'], readonly object[]>> = {
  public: [],
  inference: [{ bearer: [] }, { apiKeyHeader: [] }],
  owner: [{ bearer: [] }, { apiKeyHeader: [] }],
  operator: [{ bearer: [] }],
  worker: [{ bearer: [] }],
};

/** Builds the OpenAPI 3.1 document of a list of routes. The routes are the only source: nothing is described twice. */
export function openApiDocument(routes: readonly Route[], about: ApiDescription): JsonSchema {
  const schemas = new SchemaRegistry();
  const making: Making = { serverUrl: about.serverUrl, schemas, examples: about.examples };
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const route of routes) {
    const path = route.path.replace('+}', '}');
    paths[path] = { ...paths[path], [route.method]: operation(route, making) };
  }
  schemas.addAll(errorSchemas());
  return {
    openapi: '3.1.0',
    info: {
      title: about.title,
      version: about.version,
      description: about.description,
      license: { name: 'MIT', identifier: 'MIT' },
      contact: { name: 'The operator of this installation', url: about.serverUrl },
    },
    servers: [{ url: about.serverUrl, description: 'This installation' }],
    tags: tagsOf(routes, about.tags ?? {}),
    paths,
    // not `webhooks`: openapi-generator turns those into functions, in Python without the types of their arguments
    'x-webhooks': Object.fromEntries(
      Object.entries(about.events).map(([type, event]) => [
        type.toLowerCase().replaceAll(/[._]/g, '-'),
        { post: eventOperation(type, event, schemas) },
      ]),
    ),
    components: {
      headers: ERROR_HEADERS,
      schemas: schemas.all(),
      securitySchemes: {
        // one scheme for both: clients generated with two of this kind send neither unless one is named
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description:
            "An API key; the operator's token for operator operations, a worker token for worker operations",
        },
        apiKeyHeader: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'An API key' },
      },
    },
  };
}

function tagsOf(routes: readonly Route[], descriptions: Readonly<Record<string, string>>): JsonSchema[] {
  const names = new Set(routes.map((route) => route.tag));
  return [...names].map((name) => ({ name, ...(descriptions[name] && { description: descriptions[name] }) }));
}

function operation(route: Route, making: Making): JsonSchema {
  const described = {
    operationId: route.operationId,
    summary: route.summary,
    tags: [route.tag],
    description: descriptionOf(route),
    security: SECURITY[route.access],
    'x-access': route.access,
    parameters: parameters(route, making),
    ...(route.body && { requestBody: requestBody(route, making) }),
    responses: responses(route, making),
    ...eventStream(route, making),
    ...otherForms(route),
  };
  return {
    ...described,
    'x-codeSamples': codeSamples(making.serverUrl, route.method, route.path, described),
  };
}

function descriptionOf(route: Route): string {
  const { summary, access, response, idempotency } = route;
  return [
    `${summary}.`,
    route.description,
    access === 'owner' && 'Needs an owner key.',
    access === 'operator' && "Needs the operator's token.",
    access === 'worker' && 'Needs a worker token.',
    otherMediaTypes(route).length > 0 &&
      `With \`Accept: ${otherMediaTypes(route).join('` or `')}\` the answer is a file of that type.`,
    response.stream && 'With `stream: true` the answer is text/event-stream, see `x-event-stream`.',
    (idempotency === 'replay' || idempotency === 'booked') &&
      'With an Idempotency-Key, it is carried out only once, however often you send it.',
    idempotency === 'natural' && 'Repeating it changes nothing.',
  ]
    .filter(Boolean)
    .join(' ');
}

function parameters(route: Route, making: Making): JsonSchema[] {
  const found: JsonSchema[] = [...members(route, 'params', making), ...members(route, 'query', making)];
  found.push({
    name: 'x-request-id',
    in: 'header',
    required: false,
    description: 'Your own id for this request; 1 to 128 visible ASCII characters',
    schema: { type: 'string' },
  });
  for (const [name, description] of Object.entries(route.requestHeaders ?? {})) {
    found.push({ name, in: 'header', required: false, description, schema: { type: 'string' } });
  }
  if (route.idempotency === 'replay' || route.idempotency === 'booked') {
    found.push({
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      description:
        'Repeating the request with the same key within 24 hours returns the first answer and costs nothing',
      schema: { type: 'string', minLength: 1, maxLength: 255 },
    });
  }
  return found;
}

function members(route: Route, place: 'params' | 'query', { schemas, examples }: Making): JsonSchema[] {
  const schema = route[place];
  if (!(schema instanceof z.ZodObject)) {
    return [];
  }
  const object = schemas.convert(schema, 'input');
  const required = new Set(Array.isArray(object.required) ? object.required : []);
  return Object.entries((object.properties ?? {}) as Record<string, JsonSchema>).map(([name, member]) => {
    const { description, ...rest } = member;
    const isRequired = place === 'params' || required.has(name);
    const example = examples.parameters[`${route.operationId}.${name}`] ?? examples.parameters[name];
    return {
      name,
      in: place === 'params' ? 'path' : 'query',
      required: isRequired,
      ...(description !== undefined && { description }),
      schema: rest,
      ...(isRequired && example !== undefined && { example }),
    };
  });
}

function requestBody(route: Route, making: Making): JsonSchema {
  const written = making.examples.bodies[route.operationId];
  if (route.bodyFormat === 'raw' || !route.body) {
    const type = route.bodyMediaType ?? 'application/octet-stream';
    return { required: true, content: { [type]: media({ type: 'string' }, written) } };
  }
  const schema = making.schemas.name(
    `${typeName(route)}Request`,
    making.schemas.convert(route.body, 'input'),
  );
  const sent = media(schema, written ?? made(schema, making));
  const form = route.bodyFormat === 'json or form' && { 'multipart/form-data': sent };
  return { required: true, content: { 'application/json': sent, ...form } };
}

function responses(route: Route, making: Making): JsonSchema {
  const { status, mediaTypes, also = {} } = route.response;
  const headers = answerHeaders(route);
  const body = making.schemas.name(`${typeName(route)}Response`, answerSchema(route, making.schemas));
  const content = Object.fromEntries(
    (mediaTypes ?? ['application/json'])
      .filter((type) => !otherMediaTypes(route).includes(type))
      .map((type) => {
        const written = making.examples.answers[route.operationId]?.[type];
        return type === 'application/json'
          ? [type, media(body, written ?? made(body, making))]
          : [type, media({ type: 'string' }, written)];
      }),
  );
  const others = Object.entries(also).map(([code, description]) => [
    code,
    { description, headers, content: Object.fromEntries(Object.entries(content).slice(0, 1)) },
  ]);
  return {
    [status]: { description: 'Success', headers, content },
    ...Object.fromEntries(others),
    ...errorResponses(route),
  };
}

/**
 * Describes the events of a streamed answer. They are not a media type of the answer: generators would make every answer "an object or a
 * text".
 */
function eventStream(route: Route, making: Making): JsonSchema {
  const { stream } = route.response;
  const example = making.examples.answers[route.operationId]?.['text/event-stream'];
  return stream
    ? {
        'x-event-stream': {
          schema: making.schemas.convert(stream, 'output'),
          ...(example !== undefined && { example }),
        },
      }
    : {};
}

/** Lists the files that a caller may request instead of JSON; not media types of the answer, for the same reason. */
function otherForms(route: Route): JsonSchema {
  const types = otherMediaTypes(route);
  return types.length > 0 ? { 'x-other-media-types': types } : {};
}

function otherMediaTypes({ response: { mediaTypes = [] } }: Route): readonly string[] {
  return mediaTypes.includes('application/json')
    ? mediaTypes.filter((type) => type !== 'application/json')
    : [];
}

/** `listModels` → `ListModels`. */
function typeName({ operationId }: Route): string {
  return operationId.slice(0, 1).toUpperCase() + operationId.slice(1);
}

/** Returns the schema of a success as it is sent: on `data` routes, with the request id that the request pipeline adds. */
function answerSchema(route: Route, schemas: SchemaRegistry): JsonSchema {
  const schema = schemas.convert(route.response.schema, 'output');
  if (route.envelope !== 'data' || typeof schema.properties !== 'object') {
    return schema;
  }
  const required = Array.isArray(schema.required) ? schema.required : [];
  return {
    ...schema,
    properties: { ...schema.properties, request_id: schemas.convert(requestId, 'output') },
    required: [...new Set([...required, 'request_id'])],
  };
}

function media(schema: JsonSchema, example: unknown): JsonSchema {
  return { schema, ...(example !== undefined && { example }) };
}

function made(schema: JsonSchema, { schemas, examples }: Making): unknown {
  return exampleOf(schema, examples, (name) => schemas.named(name));
}
