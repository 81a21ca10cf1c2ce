import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import helmet from 'helmet';

/**
 * The headers that helmet gives every response. They depend on no request, so its thirteen middlewares run once, at start,
 * instead of before every call.
 */
export function securityHeaders(): readonly (readonly [string, string])[] {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  const protect = helmet({
    // other hosts of the operator's domain are the operator's to decide on
    strictTransportSecurity: { includeSubDomains: false },
    contentSecurityPolicy: { useDefaults: true, directives: { upgradeInsecureRequests: null } },
  });
  protect(request, response, (error) => {
    if (error !== undefined) {
      throw error;
    }
  });
  return Object.entries(response.getHeaders()).map(([name, value]) => [name, String(value)]);
}
