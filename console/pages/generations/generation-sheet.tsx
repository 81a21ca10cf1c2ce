import { useRead } from '../../api/queries.ts';
import type { Generation } from '../../api/types.gen.ts';
import { to } from '../../lib/location.ts';
import { sumUsd, usd } from '../../lib/money.ts';
import { formatCount, t } from '../../lib/text.ts';
import { formatDuration } from '../../lib/time.ts';
import { Amount } from '../../ui/amount.tsx';
import { Id } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Loaded, Notice } from '../../ui/feedback.tsx';
import { Status } from '../../ui/status.tsx';
import { Time } from '../../ui/time.tsx';
import { speedOf } from './speed.ts';

/** One call: its usage, and the price lines that add up to its charge. */
export function GenerationSheet({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const reading = useRead<Generation>('/api/v1/generation', { id });
  return (
    <Dialog title={t('Generation')} kind="sheet" onClose={onClose}>
      <Loaded reading={reading} lines={10}>
        {(generation) => (
          <div class="form">
            <Facts of={generation} />
            <Lines of={generation} />
            {generation.error === null ? null : (
              <Notice tone="bad">
                <p>
                  {generation.error.code}: {generation.error.message}
                </p>
                <p>
                  {usd(generation.charged_amount) === 0n
                    ? t('You paid nothing.')
                    : t('You paid for what was delivered.')}
                </p>
              </Notice>
            )}
            <p>
              <a href={to('billing')}>{t('Transactions')}</a>
            </p>
          </div>
        )}
      </Loaded>
    </Dialog>
  );
}

function Facts({ of: generation }: { readonly of: Generation }) {
  const { usage } = generation;
  return (
    <dl class="facts">
      <dt>{t('State')}</dt>
      <dd>
        <Status of={generation.status} />
      </dd>
      <dt>{t('Id')}</dt>
      <dd>
        <Id value={generation.id} />
      </dd>
      <dt>{t('Time')}</dt>
      <dd>
        <Time at={generation.created_at} />
      </dd>
      <dt>{t('Model')}</dt>
      <dd>{generation.model}</dd>
      <dt>{t('Endpoint')}</dt>
      <dd class="mono">{generation.endpoint}</dd>
      <dt>{t('Tokens in')}</dt>
      <dd>
        {formatCount(usage.input_tokens)}
        {usage.cache_read_tokens > 0
          ? t(' ({count} from the cache)', { count: formatCount(usage.cache_read_tokens) })
          : ''}
      </dd>
      <dt>{t('Tokens out')}</dt>
      <dd>
        {formatCount(usage.output_tokens)}
        {usage.reasoning_tokens > 0
          ? t(' ({count} of them reasoning)', { count: formatCount(usage.reasoning_tokens) })
          : ''}
      </dd>
      <dt>{t('Counted by')}</dt>
      <dd>{generation.usage_source}</dd>
      <dt>{t('Duration')}</dt>
      <dd>
        {formatDuration(generation.latency_ms)}
        {generation.first_token_ms === null
          ? ''
          : ` · ${t('first token after {time}', { time: formatDuration(generation.first_token_ms) })}`}
        {` · ${speedOf(generation)}`}
      </dd>
      <dt>{t('Finish reason')}</dt>
      <dd>{generation.finish_reason ?? '–'}</dd>
    </dl>
  );
}

function Lines({ of: generation }: { readonly of: Generation }) {
  const lines = Object.entries(generation.cost_details);
  const total = sumUsd(lines.map(([, amount]) => usd(amount)));
  const isExact = lines.length === 0 || total === usd(generation.charged_amount);
  return (
    <table aria-label={t('Price lines')}>
      <tbody>
        {lines.map(([item, amount]) => (
          <tr key={item}>
            <td>{t(item.replace('_', ' '))}</td>
            <td class="number">
              <Amount value={amount} />
            </td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <td>{t('Charged')}</td>
          <td class="number">
            <Amount value={generation.charged_amount} /> {isExact ? '' : '✕'}
          </td>
        </tr>
      </tfoot>
    </table>
  );
}
