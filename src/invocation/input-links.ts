import { AppError } from '../lib/errors.ts';
import { canBePublicHost } from '../lib/ip-address.ts';

const SHOWN_MAX = 100;

/**
 * Requires links to public hosts. Providers fetch links themselves, and self-hosted providers run inside our network, so a link must not
 * point to anything that only that network or machine can reach. Names are not resolved here, because the provider would resolve them
 * again. Throws AppError invalid_parameter.
 */
export function requireFetchable(links: readonly string[], httpAllowed: boolean): void {
  for (const link of links) {
    const problem = problemOf(link, httpAllowed);
    if (problem !== undefined) {
      const shown = JSON.stringify(link.slice(0, SHOWN_MAX));
      throw new AppError('invalid_parameter', `${shown}: the URL of an image or file must ${problem}`);
    }
  }
}

function problemOf(link: string, httpAllowed: boolean): string | undefined {
  const url = URL.canParse(link) ? new URL(link) : undefined;
  switch (url?.protocol) {
    case 'data:':
      return undefined;
    case 'http:':
    case 'https:':
      if (url.protocol === 'http:' && !httpAllowed) {
        return 'begin with https://, or be sent inline as a data: URL';
      }
      return canBePublicHost(url) ? undefined : 'point to a public host, or be sent inline as a data: URL';
    default:
      return 'be an https:// or data: URL';
  }
}
