import { AppError } from '../lib/errors.ts';
import type { Exchange } from './exchange.ts';
import type { Kernel } from './kernel.ts';
import type { Principal, Route } from './route.ts';

export interface Admission {
  /** Undefined on public and operator routes. */
  readonly principal: Principal | undefined;
  /** Name of the operator, on operator routes. */
  readonly operator: string | undefined;
  readonly reportTokens: (tokens: number) => void;
}

const NOBODY: Admission = { principal: undefined, operator: undefined, reportTokens: () => undefined };

/** Authenticates and authorises by the matched route object itself, then takes the call from the key's allowance. */
export async function admitCaller(kernel: Kernel, route: Route, exchange: Exchange): Promise<Admission> {
  const { request, response } = exchange;
  const address = request.ip ?? '';
  if (route.access === 'public') {
    return NOBODY;
  }
  if (route.access === 'operator') {
    return { ...NOBODY, operator: kernel.authenticator.operator(request.headers, address) };
  }
  const principal = await kernel.authenticator.principal(request.headers, address, route.method === 'get');
  exchange.accountId = principal.accountId;
  exchange.apiKeyId = principal.apiKeyId;
  kernel.onAuthenticated(principal);
  const ticket = await kernel.rateLimiter.admit(
    {
      keyId: principal.apiKeyId,
      concurrent: route.access === 'inference' && route.method === 'post',
      bodyBytes: Number(request.headers['content-length'] ?? 0),
    },
    (headers) => {
      for (const [name, value] of Object.entries(headers)) {
        response.setHeader(name, value);
      }
    },
  );
  // a client that left while Redis was asked has closed the response already
  if (response.closed) {
    ticket.finish();
  } else {
    response.once('close', () => ticket.finish());
  }
  requireRole(route, principal);
  return { principal, operator: undefined, reportTokens: (tokens) => ticket.reportTokens(tokens) };
}

function requireRole(route: Route, principal: Principal): void {
  if (route.access === 'owner' && principal.role !== 'owner') {
    throw new AppError('insufficient_scope', 'this operation needs an owner key');
  }
}
