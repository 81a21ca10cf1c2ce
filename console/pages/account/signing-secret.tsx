import { useState } from 'preact/hooks';
import { useAction } from '../../api/action.ts';
import { get, send } from '../../api/client.ts';
import type { WebhookSecret } from '../../api/types.gen.ts';
import { t } from '../../lib/text.ts';
import { newUuid } from '../../lib/uuid.ts';
import { Copy } from '../../ui/copy.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Problem } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Time } from '../../ui/time.tsx';

const PATH = '/api/v1/webhooks/secret';

/** The secret that signs events: read only when it is asked for, kept nowhere, and replaced on request. */
export function SigningSecret() {
  const [shown, show] = useState<WebhookSecret>();
  const [replacing, setReplacing] = useState<string>();
  const showing = useAction(async () => show((await get<WebhookSecret>(PATH)).data));
  const rotating = useAction(async (key: string) => {
    const headers = { 'idempotency-key': key };
    show((await send<WebhookSecret>('POST', `${PATH}/rotate`, { headers })).data);
    setReplacing(undefined);
  });
  return (
    <Panel title={t('Signing secret')}>
      <div class="form">
        <p class="quiet small">
          {t('Events are signed with this secret, so that your endpoint can tell them from forged ones.')}
        </p>
        {shown === undefined ? null : <Shown secret={shown} />}
        {showing.error === undefined ? null : <Problem error={showing.error} />}
        <div class="form-row">
          <button
            type="button"
            class="button"
            disabled={showing.isPending}
            onClick={() => (shown === undefined ? void showing.run() : show(undefined))}
          >
            {shown === undefined ? t('Show the secret') : t('Hide the secret')}
          </button>
          <button type="button" class="button" onClick={() => setReplacing(newUuid())}>
            {t('Replace …')}
          </button>
        </div>
      </div>
      {replacing === undefined ? null : (
        <Confirm
          title={t('Replace the signing secret?')}
          text={t(
            'For one day, events are signed with the new secret and the old one. After that, only with the new one.',
          )}
          action={t('Replace')}
          acting={rotating}
          onConfirm={() => void rotating.run(replacing)}
          onClose={() => setReplacing(undefined)}
        />
      )}
    </Panel>
  );
}

function Shown({
  secret: { secret, previous_secret_expires_at: until },
}: {
  readonly secret: WebhookSecret;
}) {
  return (
    <>
      <div class="form-row">
        <code class="secret">{secret}</code>
        <Copy text={secret} label={t('Copy the secret')} />
      </div>
      {until === null ? null : (
        <p class="quiet small">
          {t('The previous secret also signs until')} <Time at={until} />
        </p>
      )}
    </>
  );
}
