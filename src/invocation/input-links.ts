import { AppError } from '../lib/errors.ts';
import { canBePublicHost } from '../lib/ip-address.ts';

const SHOWN_MAX = 100;

/**
 * A provider fetches these itself, and one of our own stands in our network: what only that network or the machine can reach is not
 * asked of it. Names are not resolved here, since the provider would resolve them again. Throws AppError invalid_parameter.
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
        return 'begin with https://; or send it inline, as a data: URL';
      }
      return canBePublicHost(url) ? undefined : 'lead to a public host; or send it inline, as a data: URL';
    default:
      return 'be an https:// or data: URL';
  }
}
