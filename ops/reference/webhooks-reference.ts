import { API_DESCRIPTION } from '../../src/api-description.ts';
import { RETRY_SCHEDULE_MS } from '../../src/webhooks/retry-schedule.ts';
import { markdownTable } from './schema-table.ts';

/** How long after the try before each later try is made, e.g. `2 min`. */
export function retryPauses(): string[] {
  return RETRY_SCHEDULE_MS.slice(1).map((ms) =>
    ms < 60_000 ? `${ms / 1_000} s` : ms < 3_600_000 ? `${ms / 60_000} min` : `${ms / 3_600_000} h`,
  );
}

/** The events that customers' endpoints get as a page of the docs. */
export function webhooksReference(): string {
  const events = Object.entries(API_DESCRIPTION.events).map(
    ([type, { summary, description, payload, headers }]) => `## \`${type}\`

${summary}. ${description} The body is \`{"event_type":"${type}","payload":…}\`; \`payload\` is a
\`${payload.meta()?.id}\` of \`openapi.json\`.

${markdownTable(
  ['Header', ''],
  Object.entries(headers).map(([name, text]) => [`\`${name}\``, text]),
)}
`,
  );
  return `# Webhook events

\`npm run generate\` writes this page from the code; \`openapi.json\` has the same under \`x-webhooks\`. How to check a signature and what to
answer: [webhooks](../webhooks.md). ${RETRY_SCHEDULE_MS.length} tries in all: at once, then after ${retryPauses().join(', ')}, each with up to a fifth on top.

${events.join('\n')}`;
}
