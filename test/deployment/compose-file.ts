import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export interface ComposeService {
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly stop_grace_period?: string;
  readonly profiles?: readonly string[];
  readonly ports?: readonly string[];
  readonly mem_limit?: string;
}

export interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>;
}

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Values for every variable that docker-compose.yml requires. */
export const COMPOSE_VARIABLES: Readonly<Record<string, string>> = {
  PUBLIC_URL: 'http://127.0.0.1:8080',
  POSTGRES_PASSWORD: 'superuser-password',
  DATABASE_OWNER_PASSWORD: 'owner-password',
  DATABASE_APPLICATION_PASSWORD: 'application-password',
  REDIS_PASSWORD: 'redis-password',
  TOLLGATE_SECRET: 'a-secret-of-at-least-thirty-two-characters',
  ADMIN_TOKEN: 'an-admin-token-of-the-tests',
};

const VARIABLE = /\$(?:\$|\{(\w+)(?:(:-|:\?)([^}]*))?\})/g;

/** Reads docker-compose.yml with these variables as Docker does. Throws with the file's own message when one is missing. */
export function readComposeFile(variables: Readonly<Record<string, string>>): ComposeFile {
  const text = readFileSync(`${ROOT}/docker-compose.yml`, 'utf8');
  return withValues(parse(text, { merge: true }), variables) as ComposeFile;
}

/** Substitutes variables after the YAML was parsed, as Docker does, so a number from a variable stays text. */
function withValues(node: unknown, variables: Readonly<Record<string, string>>): unknown {
  if (typeof node === 'string') {
    return interpolate(node, variables);
  }
  if (Array.isArray(node)) {
    return node.map((item) => withValues(item, variables));
  }
  if (typeof node === 'object' && node !== null) {
    return Object.fromEntries(
      Object.entries(node).map(([key, value]) => [key, withValues(value, variables)]),
    );
  }
  return node;
}

/** Applies the Compose file's substitutions: ${NAME}, ${NAME:-default}, ${NAME:?message}, $$. */
function interpolate(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(VARIABLE, (_match, name?: string, operator?: string, rest = '') => {
    if (name === undefined) {
      return '$';
    }
    const value = variables[name] ?? '';
    if (value === '' && operator === ':?') {
      throw new Error(`${name}: ${rest}`);
    }
    return value === '' && operator === ':-' ? rest : value;
  });
}
