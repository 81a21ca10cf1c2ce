import { API_DESCRIPTION } from '../src/api-description.ts';
import { allRoutes } from '../src/app.ts';
import { checkoutRoutes } from '../src/billing/checkout.routes.ts';
import { invoiceRoutes } from '../src/billing/invoices.routes.ts';
import { paymentEventRoutes } from '../src/billing/payment-event.routes.ts';
import { checkoutResultRoutes, paymentPageRoutes } from '../src/billing/payment-page.routes.ts';
import { transactionRoutes } from '../src/billing/transactions.routes.ts';
import { accountOverviewRoutes } from '../src/console/account.routes.ts';
import { eventRoutes } from '../src/console/events.routes.ts';
import { memberRoutes } from '../src/console/members.routes.ts';
import { moveSessionRoute } from '../src/console/session-account.routes.ts';
import { sessionRoutes } from '../src/console/sessions.routes.ts';
import { BODY_BYTES_MAX } from '../src/http/input/body-bytes.ts';
import { openApiDocument } from '../src/http/openapi/openapi.ts';
import type { JsonSchema } from '../src/http/openapi/openapi-portable.ts';
import type { Route } from '../src/http/route.ts';
import { chatRoutes } from '../src/invocation/chat.routes.ts';
import { embeddingsRoutes } from '../src/invocation/embeddings/embeddings.routes.ts';
import { estimateRoutes } from '../src/invocation/estimates.routes.ts';
import { messagesRoutes } from '../src/invocation/messages.routes.ts';
import { rerankRoutes } from '../src/invocation/rerank/rerank.routes.ts';
import { responsesRoutes } from '../src/invocation/responses/responses.routes.ts';
import { workerApiRoutes } from '../src/remote-workers/worker-api.routes.ts';
import { nativeTaskRoutes } from '../src/tasks/native-tasks.routes.ts';
import { openAiImageRoutes } from '../src/tasks/openai-images.routes.ts';
import { openAiVideoRoutes } from '../src/tasks/openai-videos.routes.ts';
import { taskRoutes } from '../src/tasks/tasks.routes.ts';
import { usageRoutes } from '../src/usage/usage.routes.ts';
import { alertRoutes } from '../src/webhooks/alerts.routes.ts';
import { webhookRoutes } from '../src/webhooks/webhooks.routes.ts';

/** Stands in for every service: routes are described without being called. */
const nothing = new Proxy({}, { get: () => undefined }) as never;

/** Returns every route that an installation can have, whichever payment provider it uses. */
export function describedRoutes(): Route[] {
  const paid = { service: nothing, bodyBytesMax: BODY_BYTES_MAX, loopQueue: nothing, clock: nothing };
  return allRoutes({
    paidRoutes: [
      ...chatRoutes(paid),
      ...messagesRoutes(paid),
      ...responsesRoutes(paid),
      ...embeddingsRoutes(paid),
      ...rerankRoutes(paid),
      ...estimateRoutes(nothing, nothing),
      ...taskRoutes(nothing, nothing),
      ...nativeTaskRoutes(nothing, nothing),
      ...openAiImageRoutes(nothing, nothing),
      ...openAiVideoRoutes(nothing, nothing),
      ...webhookRoutes(nothing, nothing),
      ...alertRoutes(nothing),
    ],
    account: nothing,
    billingRoutes: [
      ...usageRoutes(nothing),
      ...transactionRoutes(nothing),
      ...invoiceRoutes(nothing),
      ...checkoutRoutes(nothing, nothing),
      ...checkoutResultRoutes(nothing),
      ...paymentPageRoutes(nothing),
      ...paymentEventRoutes(nothing),
    ],
    consoleRoutes: [
      ...sessionRoutes(nothing, nothing),
      ...memberRoutes(nothing),
      moveSessionRoute(nothing, nothing, nothing),
      ...accountOverviewRoutes(nothing),
      ...eventRoutes(nothing),
    ],
    workerRoutes: workerApiRoutes(nothing),
    operators: nothing,
    meta: { readiness: nothing, metrics: nothing, authenticator: nothing, about: API_DESCRIPTION },
  });
}

/** Returns a module with the paths of all routes: aliases of a catalog are validated where no routes are loaded. */
export function routePathsModule(): string {
  const paths = [...new Set(describedRoutes().map(({ path }) => path))].toSorted();
  const lines = paths.map((path) => `  '${path}',\n`).join('');
  return `/** Written by \`npm run generate\`: the path of every route. */\nexport const ROUTE_PATHS: readonly string[] = [\n${lines}];\n`;
}

export function documentOf(): JsonSchema {
  return openApiDocument(describedRoutes(), API_DESCRIPTION);
}
