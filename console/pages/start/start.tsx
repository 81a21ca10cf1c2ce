import { useFirstCall } from '../../api/first-call.ts';
import { mayChangeKeys } from '../../api/members.ts';
import { useRead } from '../../api/queries.ts';
import type { Model } from '../../api/types.gen.ts';
import { to } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { CodeTabs } from '../../ui/code.tsx';
import { Id } from '../../ui/copy.tsx';
import { Panel } from '../../ui/panel.tsx';
import { chatSnippets, serviceUrl } from '../../ui/snippets.ts';

/** Leads from a new account to the first call, and shows whether it has arrived. */
export function StartPage() {
  const { data } = useRead<readonly Model[]>('/api/v1/models');
  const model = data?.find(({ endpoints }) => endpoints.some((endpoint) => endpoint === 'chat'));
  const call = useFirstCall();
  return (
    <div class="page">
      <h1 tabIndex={-1}>{t('Start')}</h1>
      <Panel title={t('1. Get a key')}>
        <p>
          {mayChangeKeys() ? (
            <>
              <a href={to('keys')}>{t('Create a key for your program')}</a>{' '}
              {t('and set it in the environment as TOLLGATE_KEY.')}
            </>
          ) : (
            t(
              'Use the key you signed in with, or ask an owner for one, and set it in the environment as TOLLGATE_KEY.',
            )
          )}
        </p>
      </Panel>
      <Panel title={t('2. Make a call')}>
        <div class="form">
          <p>
            {t('Base URL for OpenAI clients:')} <Id value={`${serviceUrl()}/api/v1`} />
          </p>
          <p>
            {t('Base URL for Anthropic clients:')} <Id value={serviceUrl()} />
          </p>
          <CodeTabs snippets={chatSnippets(model?.id ?? 'model')} />
        </div>
      </Panel>
      <Panel title={t('3. First call')}>
        <p role="status">
          {call === undefined ? (
            <span class="quiet">◌ {t('Waiting for the first call …')}</span>
          ) : (
            <a class="status-good" href={to('generations', { generation: call.id })}>
              ● {t('Received a call to {model}', { model: call.model })}
            </a>
          )}
        </p>
      </Panel>
    </div>
  );
}
