import { API_DESCRIPTION } from '../../src/api-description.ts';
import { RETRY_SCHEDULE_MS } from '../../src/webhooks/retry-schedule.ts';
import { markdownTable } from './schema-table.ts';

/** Returns the pauses before each retry, e.g. `2 min`. */
export function retryPauses(): string[] {
  return RETRY_SCHEDULE_MS.slice(1).map((ms) =>
    ms < 60_000 ? `${ms / 1_000} s` : ms < 3_600_000 ? `${ms / 60_000} min` : `${ms / 3_600_000} h`,
  );
}

/** Returns the events that customers' endpoints receive as a page of the docs. */
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

\`npm run generate\` writes this page from the code; \`openapi.json\` contains the same under \`x-webhooks\`. How to verify a signature and what to
respond: [webhooks](../webhooks.md). There are ${RETRY_SCHEDULE_MS.length} tries in total: at once, then after ${retryPauses().join(', ')}, each delayed by up to a fifth more.

${events.join('\n')}`;
}
