import { ApiError } from '../../api/client.ts';
import { useRead } from '../../api/queries.ts';
import type { AccountOverview } from '../../api/types.gen.ts';
import { t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { Problem } from '../../ui/feedback.tsx';
import { AddCredits } from './too-dear.tsx';

export interface RefusedProps {
  readonly error: unknown;
  /** Nano-USD that would have to be available. */
  readonly needed: bigint | undefined;
}

/** Explains why a paid call was rejected, and how much money was missing, if any. */
export function Refused({ error, needed }: RefusedProps) {
  const isShort = error instanceof ApiError && error.code === 'insufficient_credits';
  return <Problem error={error}>{isShort ? <Shortage needed={needed} /> : null}</Problem>;
}

function Shortage({ needed }: { readonly needed: bigint | undefined }) {
  const { data } = useRead<AccountOverview>('/api/v1/account');
  return (
    <>
      <dl class="facts">
        <dt>{t('Needed at most')}</dt>
        <dd>
          <Amount value={needed} />
        </dd>
        <dt>{t('Available')}</dt>
        <dd>
          <Amount value={data?.available} />
        </dd>
        <dt>{t('Held by running calls')}</dt>
        <dd>
          <Amount value={data?.held} />
        </dd>
      </dl>
      <p>
        <AddCredits button />
      </p>
    </>
  );
}
