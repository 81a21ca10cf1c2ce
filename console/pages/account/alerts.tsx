import { useState } from 'preact/hooks';
import { useAction } from '../../api/action.ts';
import { send } from '../../api/client.ts';
import { refresh, useRead } from '../../api/queries.ts';
import type { Alerts } from '../../api/types.gen.ts';
import { jsonUsd, parseTypedUsd, plainUsd, usdOfNumber } from '../../lib/money.ts';
import { t } from '../../lib/text.ts';
import { Loaded, Notice, Problem } from '../../ui/feedback.tsx';
import { Field } from '../../ui/field.tsx';
import { Panel } from '../../ui/panel.tsx';

const PATH = '/api/v1/webhooks/alerts';

/** Where and when the account is alerted that credits run low or a key is near its limit. */
export function AlertsPanel() {
  const alerts = useRead<Alerts>(PATH);
  return (
    <Panel title={t('Alerts')}>
      <Loaded reading={alerts}>{(data) => <AlertsForm alerts={data} />}</Loaded>
    </Panel>
  );
}

function AlertsForm({ alerts }: { readonly alerts: Alerts }) {
  const [url, setUrl] = useState(alerts.url ?? '');
  const [low, setLow] = useState(
    alerts.credits_low === null ? '' : plainUsd(usdOfNumber(alerts.credits_low)),
  );
  const [near, setNear] = useState(alerts.key_limit_near);
  const [isDone, setDone] = useState(false);
  const lowNano = low.trim() === '' ? null : parseTypedUsd(low);
  const saving = useAction(async () => {
    await send('PATCH', PATH, {
      body: {
        url: url.trim() === '' ? null : url.trim(),
        credits_low: lowNano === null || lowNano === undefined ? null : jsonUsd(lowNano),
        key_limit_near: near,
      },
    });
    refresh(PATH);
    setDone(true);
  });
  const submit = (event: Event) => {
    event.preventDefault();
    if (lowNano !== undefined) {
      void saving.run();
    }
  };
  return (
    <form class="form" onSubmit={submit} onInput={() => setDone(false)}>
      <Field
        label={t('Webhook URL')}
        hint={t('Signed events are posted to this URL. Empty: nothing is sent.')}
      >
        <input type="url" value={url} onInput={(event) => setUrl(event.currentTarget.value)} />
      </Field>
      <Field
        label={t('When credits fall below (USD)')}
        problem={lowNano === undefined ? t('An amount like 25 or 12.50') : undefined}
      >
        <input inputMode="decimal" value={low} onInput={(event) => setLow(event.currentTarget.value)} />
      </Field>
      <Field label={t('When a key has spent this share of its limit (percent)')}>
        <input
          type="number"
          min={1}
          max={100}
          value={near ?? ''}
          onInput={({ currentTarget: { valueAsNumber: percent } }) =>
            setNear(Number.isNaN(percent) ? null : percent)
          }
        />
      </Field>
      {saving.error === undefined ? null : <Problem error={saving.error} />}
      {isDone && !saving.isPending && saving.error === undefined ? (
        <Notice tone="good">{t('Saved.')}</Notice>
      ) : null}
      <button type="submit" class="button button-main" disabled={saving.isPending}>
        {saving.isPending ? t('Saving …') : t('Save')}
      </button>
    </form>
  );
}
