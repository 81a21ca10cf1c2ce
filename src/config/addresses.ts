import { z } from 'zod';

const ANY_HOST = new Set(['0.0.0.0', '::']);

/** A name or address to listen on. A zone as in `fe80::1%eth0` is allowed. */
export const listenHost = z.string().refine((host) => host.length > 0 && isHost(host), {
  message: 'must be an IP address or a host name, without a port',
});

/** Returns a check of a URL with one of these schemes. */
export const url = (protocols: readonly string[]) =>
  z.string().refine((value) => isWrittenOut(value) && protocols.includes(new URL(value).protocol), {
    message: `must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  });

/** Returns whether paths can be appended to a URL: a query, a fragment or credentials would end up inside of every link. */
export function isBaseUrl(text: string): boolean {
  return !/[?#]/.test(text) && hasNoAccount(text);
}

/** What to say of a URL that is not a base. */
export const NO_BASE =
  'must be a URL without a user, a query (?) or a fragment (#): paths are appended to it';

/** An http or https URL that paths are appended to. */
export const baseUrl = url(['http:', 'https:']).refine(isBaseUrl, { message: NO_BASE });

/** An http or https URL that is requested as it is. Node's fetch refuses URLs with a user or a password. */
export const requestedUrl = url(['http:', 'https:']).refine(hasNoAccount, {
  message: 'must be a URL without a user and a password',
});

/** Returns whether a text is a URL as links need it: `URL` also understands `https:example.com`, which no client does. */
function isWrittenOut(text: string): boolean {
  return URL.canParse(text) && /^[a-z]+:\/\/[^\s/\\]/i.test(text);
}

/** Returns whether listening on this host covers a second one. */
export function coversAll(host: string): boolean {
  return ANY_HOST.has(host);
}

/** Returns how a URL names a host that a process listens on. */
export function urlHost(host: string): string {
  if (coversAll(host)) {
    return 'localhost';
  }
  return host.includes(':') ? `[${host.replace(/%.*$/s, '')}]` : host;
}

/** Returns whether only this machine can reach the host. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}

function isHost(host: string): boolean {
  return /^[A-Za-z0-9._:%-]+$/.test(host) && URL.canParse(`http://${urlHost(host)}`);
}

function hasNoAccount(text: string): boolean {
  if (!URL.canParse(text)) {
    // refused before, with its own message
    return true;
  }
  const { username, password } = new URL(text);
  return username === '' && password === '';
}
