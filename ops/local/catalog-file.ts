import { readFileSync } from 'node:fs';
import { parseDocument } from 'yaml';
import { errorCode } from '../embedded/error-code.ts';
import { SettingsFailure } from '../embedded/start-failure.ts';

/** A catalog model, as far as the welcome text needs it. */
export type CatalogModel = { id: string; endpoints: readonly string[] };

/**
 * Checks early that the catalog is readable and valid YAML, and returns its models. The entries themselves are validated by the
 * processes that use them. Throws SettingsFailure with one line.
 */
export function readCatalog(path: string): CatalogModel[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const code = errorCode(error);
    const reason = code === 'ENOENT' ? 'does not exist' : 'cannot be read';
    throw new SettingsFailure(`The catalog ${path} ${reason}. Set TOLLGATE_CONFIG to your tollgate.yaml.`);
  }
  const document = parseDocument(text);
  const problem = document.errors[0];
  if (problem !== undefined) {
    const line = problem.linePos?.[0].line;
    const place = line === undefined ? '' : ` line ${line}:`;
    throw new SettingsFailure(
      `The catalog ${path} is not valid YAML:${place} ${problem.message.split('\n')[0]?.replace(/ at line.*$/, '')}`,
    );
  }
  return modelsOf(contentOf(document, path));
}

/** Returns the content of the file. Aliases that would make it huge are refused by the parser. */
function contentOf(document: { toJS(): unknown }, path: string): unknown {
  try {
    return document.toJS();
  } catch {
    throw new SettingsFailure(`The catalog ${path} has too many YAML aliases (*name): write the values out.`);
  }
}

function modelsOf(content: unknown): CatalogModel[] {
  if (typeof content !== 'object' || content === null || !('models' in content)) {
    return [];
  }
  return Array.isArray(content.models) ? content.models.flatMap(toModel) : [];
}

function toModel(entry: unknown): CatalogModel[] {
  if (typeof entry !== 'object' || entry === null || !('id' in entry) || typeof entry.id !== 'string') {
    return [];
  }
  const endpoints = 'endpoints' in entry && Array.isArray(entry.endpoints) ? entry.endpoints.map(String) : [];
  return [{ id: entry.id, endpoints }];
}
