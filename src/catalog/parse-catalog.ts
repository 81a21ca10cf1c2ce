import { createHash } from 'node:crypto';
import { type Document, isNode, LineCounter, parseDocument } from 'yaml';
import { Aliases, aliasMistake, withOverrides } from '../http/aliases.ts';
import { FieldError, validate } from '../http/input/validate.ts';
import { AppError } from '../lib/errors.ts';
import { SecretFileError, secretOf } from '../lib/secret-files.ts';
import { buildModel } from './build-model.ts';
import type { Catalog, Model } from './catalog.types.ts';
import { CatalogError } from './catalog-error.ts';
import { type CatalogFile, catalogFile } from './catalog-file.schema.ts';
import { ROUTE_PATHS } from './route-paths.gen.ts';

/** What a shell would replace. Taken as it is, `$OPENAI_API_KEY` would be sent as the key, and every call would fail at the provider. */
const SHELL_REFERENCE = /^\$([A-Z][A-Z0-9_]*)$/;
const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/** A parsed tollgate.yaml. */
export interface ParsedCatalog {
  readonly catalog: Catalog;
  /** Digest of everything in the file, with the variables' values in place: a new key in a variable's file changes it. */
  readonly digest: string;
}

/** Parses the text of a tollgate.yaml as {@link readCatalog} does. */
export function parseCatalog(
  text: string,
  fileName: string,
  variables: Readonly<Record<string, string | undefined>>,
): Catalog {
  return readCatalog(text, fileName, variables).catalog;
}

/**
 * Parses the text of a tollgate.yaml. `variables` holds what `${NAME}` refers to. Throws CatalogError with one line that names
 * the file, the path inside it and what is wrong.
 */
export function readCatalog(
  text: string,
  fileName: string,
  variables: Readonly<Record<string, string | undefined>>,
): ParsedCatalog {
  const lines = new LineCounter();
  const document = parseDocument(text, { prettyErrors: true, uniqueKeys: true, lineCounter: lines });
  try {
    const content = interpolate(toValue(document), variables);
    const digest = createHash('sha256').update(JSON.stringify(content)).digest('hex');
    return { catalog: toCatalog(validate(catalogFile, content, 'body')), digest };
  } catch (error) {
    if (error instanceof CatalogError || error instanceof AppError) {
      const message = error instanceof FieldError ? error.message : error.message.replace(/^body: /, '');
      throw new CatalogError(`${fileName}: ${message}${lineOf(message, document, lines)}`, { cause: error });
    }
    throw error;
  }
}

/** Returns the line of the member that a message begins with, in parentheses; empty if it names none. A missing one is in its parent. */
function lineOf(message: string, document: Document, lines: LineCounter): string {
  const [member = ''] = /^[a-z_]+(\[\d+\]|\.[\w-]+)*(?=[.:])/.exec(message) ?? [];
  const path = member.match(/\d+(?=\])|[\w-]+(?![\w-]*\])/g) ?? [];
  for (; path.length > 0; path.pop()) {
    const node = document.getIn(path, true);
    if (isNode(node) && node.range) {
      return ` (line ${lines.linePos(node.range[0]).line})`;
    }
  }
  return '';
}

function toValue(document: Document.Parsed): unknown {
  const [error] = document.errors;
  if (error) {
    const problem =
      error.code === 'MULTIPLE_DOCS'
        ? 'a second YAML document begins here (---): keep the whole catalog in one'
        : error.message.split('\n')[0]?.replace(/ at line \d+, column \d+:?$/, '');
    throw new CatalogError(`line ${error.linePos?.[0].line ?? '?'}: ${problem}`);
  }
  try {
    // bounds the expansion of anchors: a small file must not become a huge object
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    return value ?? {};
  } catch (cause) {
    const [, alias] = /^Unresolved alias .*: (.*)/.exec((cause as Error).message) ?? [];
    const problem =
      alias === undefined
        ? 'too many YAML aliases (*name): write the values out'
        : `the YAML alias *${alias} has no anchor &${alias} above it; a text that begins with * must be in quotes`;
    throw new CatalogError(problem, { cause });
  }
}

function toCatalog(file: CatalogFile): Catalog {
  if (file.models.length === 0 && file.engines.length === 0) {
    throw new CatalogError('models: is required');
  }
  requireUnique('providers', file.providers);
  requireUnique('engines', file.engines);
  requireUnique('models', file.models);
  requireOneModelPerName(file.models);
  const providers = new Set(file.providers.map((entry) => entry.id));
  const engines = new Map(file.engines.map(({ id, runs }) => [id, runs]));
  const models = new Map<string, Model>();
  for (const [index, entry] of file.models.entries()) {
    models.set(entry.id, buildModel(entry, `models[${index}]`, { providers, engines }));
  }
  return {
    models,
    providers: file.providers,
    engines: file.engines.map(({ runs: _runs, ...entry }) => entry),
    engineFiles: {},
    limits: {
      requestsPerMinute: file.limits.requests_per_minute,
      tokensPerMinute: file.limits.tokens_per_minute,
      concurrency: file.limits.concurrency,
    },
    queuedTasksMax: file.limits.queued_tasks,
    aliases: toAliases(file.aliases),
    seller: file.seller,
  };
}

function toAliases(overrides: CatalogFile['aliases']): Aliases {
  const names = withOverrides(overrides);
  const mistake = aliasMistake(ROUTE_PATHS, names);
  if (mistake !== undefined) {
    throw new CatalogError(mistake);
  }
  return new Aliases(names);
}

/** Requires that each name, whether an id or an alias, identifies exactly one model. */
function requireOneModelPerName(models: CatalogFile['models']): void {
  const seen = new Set(models.map(({ id }) => id));
  for (const [index, { aliases }] of models.entries()) {
    for (const alias of aliases) {
      if (seen.has(alias)) {
        throw new CatalogError(`models[${index}].aliases: "${alias}" is the name of another model`);
      }
      seen.add(alias);
    }
  }
}

function requireUnique(section: string, entries: readonly { readonly id: string }[]): void {
  const seen = new Set<string>();
  for (const [index, { id }] of entries.entries()) {
    if (seen.has(id)) {
      throw new CatalogError(`${section}[${index}].id: "${id}" is used twice`);
    }
    seen.add(id);
  }
}

/**
 * Replaces `${NAME}` and `${NAME:-default}` in every string of a parsed document. Works after parsing so that a value cannot change the
 * document's structure. If `NAME_FILE` is set, the value is the current content of that file. Throws CatalogError (without the file name)
 * for a variable that is not set or written without braces, and for a value that contains itself. `parents` are what contains the value.
 */
export function interpolate(
  value: unknown,
  variables: Readonly<Record<string, string | undefined>>,
  path = '',
  parents: readonly unknown[] = [],
): unknown {
  if (typeof value === 'string') {
    const [, name] = SHELL_REFERENCE.exec(value) ?? [];
    if (name !== undefined) {
      throw new CatalogError(`${path}: to use the environment variable, write "\${${name}}" with braces`);
    }
    return value.replace(REFERENCE, (_, name: string, fallback: string | undefined) => {
      const replacement = secretAt(path, variables, name) ?? fallback;
      if (replacement === undefined) {
        throw new CatalogError(`${path}: the environment variable ${name} is not set`);
      }
      return replacement;
    });
  }
  if (parents.includes(value)) {
    throw new CatalogError(`${path}: a YAML alias (*name) must not name what it is part of`);
  }
  const inside = [...parents, value];
  if (Array.isArray(value)) {
    return value.map((item, index) => interpolate(item, variables, `${path}[${index}]`, inside));
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([name, item]) => [
      name,
      interpolate(item, variables, path === '' ? name : `${path}.${name}`, inside),
    ]);
    return Object.fromEntries(entries);
  }
  return value;
}

function secretAt(
  path: string,
  variables: Readonly<Record<string, string | undefined>>,
  name: string,
): string | undefined {
  try {
    return secretOf(variables, name);
  } catch (error) {
    throw error instanceof SecretFileError ? new CatalogError(`${path}: ${error.message}`) : error;
  }
}
