import { escapeHtml } from '../../http/html.ts';
import type { DeliveryJson } from '../deliveries.schema.ts';
import type { OperatorTaskDetailsJson } from '../operator-tasks.schema.ts';
import { navigationBar, type OperatorPage } from './page-frame.ts';

/** A task for whoever came from one of its jobs. Shows what the operator API says of it, never the prompt. */
export function taskPage(
  base: string,
  task: OperatorTaskDetailsJson,
  deliveries: readonly DeliveryJson[],
): OperatorPage {
  return {
    title: task.id,
    shape: 'page',
    navigation: navigationBar(base),
    content: `<h1><code>${escapeHtml(task.id)}</code> ${badge(task.state)}</h1>
<p>${escapeHtml(task.kind)} by ${escapeHtml(task.model)} on ${escapeHtml(task.pool)}</p>
${task.error ? `<p class="alert">${escapeHtml(task.error.code)}: ${escapeHtml(task.error.message)}</p>` : ''}
${facts(base, task)}<h2>History</h2>${history(task)}<h2>Webhooks</h2>${deliveryTable(deliveries)}`,
  };
}

function facts(base: string, task: OperatorTaskDetailsJson): string {
  const entries: [string, string | null][] = [
    ['Price', `$${task.price}`],
    ['Held', `$${task.held}`],
    ['Charged', `$${task.charged}`],
    ['Engine bills us', task.provider_cost === null ? null : `$${task.provider_cost}`],
    ['Attempts', `${task.attempts}, failed ${task.failures}`],
    ['Dispatched', `${task.dispatches} times`],
    ['Progress', `${task.progress_percent} %`],
    ['Waited', duration(task.queue_wait_ms)],
    ['Ran', duration(task.run_ms)],
    ['Engine', task.engine],
    ['Engine reference', task.engine_reference],
    ['Worker', task.worker],
    ['Submitted', moment(task.created_at)],
    ['Started', moment(task.started_at)],
    ['Ended', moment(task.completed_at)],
    ['Deadline', moment(task.deadline_at)],
    ['Cancel asked', moment(task.cancel_requested_at)],
    ['Account', task.account_id],
    ['Key', task.api_key_hash],
    ['Request', task.request_id],
    ['Seed', task.seed],
  ];
  const rows = entries
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `<div><dt>${name}</dt><dd>${escapeHtml(value ?? '')}</dd></div>`);
  const links = (
    [
      ['Retry of', task.retry_of],
      ['Retried as', task.retried_as],
    ] as const
  ).map(([name, id]) => (id === null ? '' : `<div><dt>${name}</dt><dd>${taskLink(base, id)}</dd></div>`));
  return `<dl class="panel">${rows.join('')}${links.join('')}</dl>`;
}

function history(task: OperatorTaskDetailsJson): string {
  const rows = task.history.map(
    ({ at, state, attempt, detail }) =>
      `<tr><td><time datetime="${escapeHtml(at)}">${escapeHtml(moment(at) ?? '')}</time></td><td>${badge(state)}</td><td>${attempt}</td><td>${escapeHtml(detail ?? '')}</td></tr>`,
  );
  const head =
    '<tr><th scope="col">Time</th><th scope="col">State</th><th scope="col">Attempt</th><th scope="col">Why</th></tr>';
  return `<div class="panel"><table><thead>${head}</thead><tbody>${rows.join('')}</tbody></table></div>`;
}

function deliveryTable(deliveries: readonly DeliveryJson[]): string {
  if (deliveries.length === 0) {
    return '<div class="panel"><p class="empty">None was asked for.</p></div>';
  }
  const rows = deliveries.map(
    (delivery) =>
      `<tr><td><code>${escapeHtml(delivery.id)}</code></td><td>${badge(delivery.state)}</td><td>${delivery.tries}</td>
<td>${escapeHtml(String(delivery.last_http_status ?? delivery.last_error ?? ''))}</td><td>${escapeHtml(delivery.url)}</td></tr>`,
  );
  const head =
    '<tr><th scope="col">Delivery</th><th scope="col">State</th><th scope="col">Tries</th><th scope="col">Last answer</th><th scope="col">To</th></tr>';
  return `<div class="panel"><table><thead>${head}</thead><tbody>${rows.join('')}</tbody></table></div>`;
}

function badge(state: string): string {
  return `<span class="state ${escapeHtml(state)}">${escapeHtml(state)}</span>`;
}

function taskLink(base: string, id: string): string {
  return `<a href="${escapeHtml(`${base}/tasks/${id}`)}">${escapeHtml(id)}</a>`;
}

/** Without the T and Z that make a time hard to read. */
function moment(time: string | null): string | null {
  return time === null ? null : `${time.slice(0, 10)} ${time.slice(11, 19)} UTC`;
}

function duration(milliseconds: number | null): string | null {
  return milliseconds === null ? null : `${(milliseconds / 1_000).toFixed(1)} s`;
}
