import { useState } from 'preact/hooks';
import { useAction } from '../../api/action.ts';
import { send } from '../../api/client.ts';
import { refresh } from '../../api/queries.ts';
import type { Account } from '../../api/types.gen.ts';
import { t } from '../../lib/text.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { Problem } from '../../ui/feedback.tsx';
import { AccountLimitsDialog } from './account-limits.tsx';
import { AdjustDialog } from './adjust.tsx';

type Act = 'adjust' | 'confine' | 'suspend';

/** Actions of an operator on an account; each is written to the audit log. */
export function AccountActs({ account }: { readonly account: Account }) {
  const [act, setAct] = useState<Act>();
  const close = () => {
    setAct(undefined);
    refresh('/admin/v1/');
  };
  const suspending = useAction(async () => {
    await send('PATCH', `/admin/v1/accounts/${account.id}`, { body: { suspended: !account.suspended } });
    close();
  });
  return (
    <div class="form">
      {suspending.error === undefined || act === 'suspend' ? null : <Problem error={suspending.error} />}
      <div class="form-row">
        <button type="button" class="button button-main" onClick={() => setAct('adjust')}>
          {t('Credit or debit …')}
        </button>
        <button type="button" class="button" onClick={() => setAct('confine')}>
          {t('Models and limits …')}
        </button>
        {account.suspended ? (
          <button
            type="button"
            class="button"
            disabled={suspending.isPending}
            onClick={() => void suspending.run()}
          >
            {t('Lift suspension')}
          </button>
        ) : (
          <button type="button" class="button button-bad" onClick={() => setAct('suspend')}>
            {t('Suspend …')}
          </button>
        )}
      </div>
      {act === 'adjust' ? <AdjustDialog account={account} onClose={close} /> : null}
      {act === 'confine' ? <AccountLimitsDialog account={account} onClose={close} /> : null}
      {act === 'suspend' ? (
        <Confirm
          title={t('Suspend “{name}”?', { name: account.name })}
          text={t(
            'New calls are rejected within a second. Running calls finish and are charged. The balance does not change.',
          )}
          action={t('Suspend')}
          acting={suspending}
          onConfirm={() => void suspending.run()}
          onClose={() => setAct(undefined)}
        />
      ) : null}
    </div>
  );
}
