import { useState } from 'preact/hooks';
import { useAction } from '../../api/action.ts';
import { send } from '../../api/client.ts';
import { useReadAll } from '../../api/queries.ts';
import type { Account, PricePeriod } from '../../api/types.gen.ts';
import { t } from '../../lib/text.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Notice, Problem } from '../../ui/feedback.tsx';
import { Field } from '../../ui/field.tsx';

interface ConfineDialogProps {
  readonly account: Account;
  readonly onClose: () => void;
}

const LIMITS = {
  requests_per_minute: 'Requests per minute',
  tokens_per_minute: 'Tokens per minute',
  concurrency: 'Concurrent calls',
  queued_tasks: 'Queued tasks per pool',
} as const;
type LimitName = keyof typeof LIMITS;
const NAMES = Object.keys(LIMITS) as LimitName[];

/** Which models an account may call, and its limits. An empty field means the configured default. */
export function AccountLimitsDialog({ account, onClose }: ConfineDialogProps) {
  const [models, setModels] = useState((account.allowed_models ?? []).join('\n'));
  const [limits, setLimits] = useState<Readonly<Record<LimitName, string>>>(() => textsOf(account));
  const allowed = models
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const unknown = useUnknown(allowed);
  const saving = useAction(async () => {
    await send('PATCH', `/admin/v1/accounts/${account.id}`, {
      body: { allowed_models: allowed.length === 0 ? null : allowed, rate_limits: limitsOf(limits) },
    });
    onClose();
  });
  const submit = (event: Event) => {
    event.preventDefault();
    void saving.run();
  };
  return (
    <Dialog title={t('Models and limits of “{name}”', { name: account.name })} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <Field
          label={t('Models it may call')}
          hint={t('One ID per line. Empty: every model in the catalog.')}
        >
          <textarea rows={4} value={models} onInput={(event) => setModels(event.currentTarget.value)} />
        </Field>
        {unknown.length === 0 ? null : (
          <Notice tone="wait">
            {t('No model in the catalog has this ID: {models}. Unless it is an alias, it allows nothing.', {
              models: unknown.join(', '),
            })}
          </Notice>
        )}
        {NAMES.map((name) => (
          <Field key={name} label={t(LIMITS[name])} hint={t('Empty: as configured.')}>
            <input
              type="text"
              inputMode="numeric"
              pattern="[1-9][0-9]*"
              title={t('A whole number above zero')}
              value={limits[name]}
              onInput={(event) => setLimits({ ...limits, [name]: event.currentTarget.value })}
            />
          </Field>
        ))}
        {saving.error === undefined ? null : <Problem error={saving.error} />}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={onClose}>
            {t('Cancel')}
          </button>
          <button type="submit" class="button button-main" disabled={saving.isPending}>
            {t('Save')}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function textsOf({ rate_limits: limits }: Account): Readonly<Record<LimitName, string>> {
  const textOf = (name: LimitName) => String(limits?.[name] ?? '');
  return {
    requests_per_minute: textOf('requests_per_minute'),
    tokens_per_minute: textOf('tokens_per_minute'),
    concurrency: textOf('concurrency'),
    queued_tasks: textOf('queued_tasks'),
  };
}

function limitsOf(texts: Readonly<Record<LimitName, string>>): Record<string, number> | null {
  const given = NAMES.filter((name) => texts[name].trim() !== '');
  return given.length === 0
    ? null
    : Object.fromEntries(given.map((name) => [name, Number.parseInt(texts[name], 10)]));
}

/** Returns the ids that no model of the catalog has now. A model may be allowed before it is added, so these are only pointed out. */
function useUnknown(ids: readonly string[]): string[] {
  const { data } = useReadAll<PricePeriod>('/admin/v1/prices', {});
  const known = new Set((data ?? []).filter(({ ends_at: end }) => end === null).map(({ model }) => model));
  return data === undefined ? [] : ids.filter((id) => !known.has(id));
}
