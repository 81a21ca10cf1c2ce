import { type Html, html } from '../../http/answers/html.ts';
import type { DeliveryJson } from '../deliveries.schema.ts';
import type { OperatorTaskDetailsJson } from '../operator-tasks.schema.ts';
import { navigationBar, type OperatorPage } from './page-frame.ts';

/** Renders a task for operators who come from one of its jobs. Shows what the operator API returns, never the prompt. */
export function taskPage(
  base: string,
  task: OperatorTaskDetailsJson,
  deliveries: readonly DeliveryJson[],
): OperatorPage {
  return {
    title: task.id,
    shape: 'page',
    navigation: navigationBar(base),
    content: html`<h1><code>${task.id}</code> ${badge(task.state)}</h1>
<p>${task.kind} by ${task.model} on ${task.pool}</p>
${task.error && html`<p class="alert">${task.error.code}: ${task.error.message}</p>`}
${task.runs.map(({ said }) => said !== null && html`<p>Message from the engine: <code>${said}</code></p>`)}${facts(base, task)}<h2>History</h2>${history(task)}<h2>Webhooks</h2>${deliveryTable(deliveries)}`,
  };
}

function facts(base: string, task: OperatorTaskDetailsJson): Html {
  const entries: [string, string | null][] = [
    ['Price', `$${task.price}`],
    ['Held', `$${task.held}`],
    ['Charged', `$${task.charged}`],
    ['Engine cost', task.provider_cost === null ? null : `$${task.provider_cost}`],
    [
      'Generation runs',
      `${task.generation_runs}, failed ${task.failures}, interrupted ${task.interruptions}`,
    ],
    ['Claims', `${task.attempts}, including post-processing`],
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
    ['Cancellation requested', moment(task.cancel_requested_at)],
    ['Account', task.account_id],
    ['Key', task.api_key_hash],
    ['Request', task.request_id],
    ['Seed', task.seed],
  ];
  const rows = entries
    .filter(([, value]) => value !== null)
    .map(([name, value]) => html`<div><dt>${name}</dt><dd>${value ?? ''}</dd></div>`);
  const links = (
    [
      ['Retry of', task.retry_of],
      ['Retried as', task.retried_as],
    ] as const
  ).map(([name, id]) => id !== null && html`<div><dt>${name}</dt><dd>${taskLink(base, id)}</dd></div>`);
  return html`<dl class="panel">${rows}${links}</dl>`;
}

function history(task: OperatorTaskDetailsJson): Html {
  const rows = task.history.map(
    ({ at, state, attempt, detail, said, cost }) =>
      html`<tr><td><time datetime="${at}">${moment(at) ?? ''}</time></td><td>${badge(state)}</td><td>${attempt}</td><td>${detail ?? ''}</td><td>${cost === null ? '' : `$${cost}`}</td><td>${said ?? ''}</td></tr>`,
  );
  const head = html`<tr><th scope="col">Time</th><th scope="col">State</th><th scope="col">Attempt</th><th scope="col">Reason</th><th scope="col">Billed</th><th scope="col">Upstream message</th></tr>`;
  return html`<div class="panel"><table><thead>${head}</thead><tbody>${rows}</tbody></table></div>`;
}

function deliveryTable(deliveries: readonly DeliveryJson[]): Html {
  if (deliveries.length === 0) {
    return html`<div class="panel"><p class="empty">No webhook was requested.</p></div>`;
  }
  const rows = deliveries.map(
    (delivery) =>
      html`<tr><td><code>${delivery.id}</code></td><td>${badge(delivery.state)}</td><td>${delivery.tries}</td>
<td>${String(delivery.last_http_status ?? delivery.last_error ?? '')}</td><td>${delivery.url}</td></tr>`,
  );
  const head = html`<tr><th scope="col">Delivery</th><th scope="col">State</th><th scope="col">Tries</th><th scope="col">Last response</th><th scope="col">To</th></tr>`;
  return html`<div class="panel"><table><thead>${head}</thead><tbody>${rows}</tbody></table></div>`;
}

function badge(state: string): Html {
  return html`<span class="state ${state}">${state}</span>`;
}

function taskLink(base: string, id: string): Html {
  return html`<a href="${`${base}/tasks/${id}`}">${id}</a>`;
}

/** Omits the T and Z, which make a time hard to read. */
function moment(time: string | null): string | null {
  return time === null ? null : `${time.slice(0, 10)} ${time.slice(11, 19)} UTC`;
}

function duration(milliseconds: number | null): string | null {
  return milliseconds === null ? null : `${(milliseconds / 1_000).toFixed(1)} s`;
}
