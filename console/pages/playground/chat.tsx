import { useEstimate } from '../../api/estimates.ts';
import { useKept } from '../../api/kept.ts';
import type { Estimate, Model } from '../../api/types.gen.ts';
import { useQueryState } from '../../lib/location.ts';
import { parseUsd, plainUsd } from '../../lib/money.ts';
import { describePrices } from '../../lib/other-prices.ts';
import { mostCost, mostTokens } from '../../lib/price.ts';
import { formatCount, t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { CodeTabs } from '../../ui/code.tsx';
import { Choice, Field } from '../../ui/field.tsx';
import { Panel } from '../../ui/panel.tsx';
import { chatSnippets } from '../../ui/snippets.ts';
import { ChatTurns } from './chat-turns.tsx';
import { TooDear } from './too-dear.tsx';
import { useChat } from './use-chat.ts';

const TOKENS_MAX = 1_024;
const WHOLE = /^[1-9]\d*$/;

/** A conversation with a model. Its text stays in this tab, also while another page is shown. */
export function ChatPlayground({ models }: { readonly models: readonly Model[] }) {
  const [id, choose] = useQueryState('model', models[0]?.id ?? '');
  const model = models.find((candidate) => candidate.id === id) ?? models[0];
  const [system, setSystem] = useKept('system', '');
  const [text, setText] = useKept('message', '');
  const [tokens, setTokens] = useKept('tokens', String(TOKENS_MAX));
  const chat = useChat();
  const isWrong = !WHOLE.test(tokens.trim());
  const maxTokens = Math.max(1, Math.min(1_000_000, Number.parseInt(tokens, 10) || TOKENS_MAX));
  const messages = chat.messages({ system, text });
  const isAsked = model !== undefined && text.trim() !== '';
  const estimate = useEstimate(isAsked ? { model: model.id, messages, max_tokens: maxTokens } : undefined);
  // used until the service has counted: a text never has more tokens than bytes
  const bound = model
    ? mostCost(model.pricing, mostTokens(messages.map(({ content }) => content)), maxTokens)
    : 0n;
  const most = (estimate && parseUsd(estimate.max_amount)) ?? bound;
  const canSend = text.trim() !== '' && !isWrong && !chat.isRunning;
  const submit = (event: Event) => {
    event.preventDefault();
    if (model && canSend) {
      setText(() => '');
      const question = { model: model.id, system, text, maxTokens, maxCost: plainUsd(most), most };
      void chat.ask(question, () => setText((typed) => (typed === '' ? text : typed)));
    }
  };
  return (
    <div class="play">
      <Panel title={t('Settings')}>
        <div class="form">
          <Choice
            label={t('Model')}
            value={model?.id ?? ''}
            options={models.map((each) => [each.id, each.id])}
            onChange={choose}
          />
          {model ? <p class="small quiet">{describePrices(model.pricing)}</p> : null}
          <Field label={t('System')}>
            <textarea
              rows={3}
              value={system}
              onInput={({ currentTarget: { value } }) => setSystem(() => value)}
            />
          </Field>
          <Field
            label={t('Maximum output tokens')}
            problem={isWrong ? t('A whole number above zero') : undefined}
          >
            <input
              inputMode="numeric"
              value={tokens}
              onInput={({ currentTarget: { value } }) => setTokens(() => value)}
            />
          </Field>
        </div>
      </Panel>
      <Panel title={t('Conversation')}>
        <ChatTurns chat={chat} />
        <form class="form" onSubmit={submit}>
          <Field label={t('Message')}>
            <textarea
              rows={3}
              value={text}
              onInput={({ currentTarget: { value } }) => setText(() => value)}
              onKeyDown={(event) =>
                event.key === 'Enter' && (event.ctrlKey || event.metaKey) && submit(event)
              }
            />
          </Field>
          <div class="form-row">
            <button type="submit" class="button button-main" disabled={!canSend}>
              {t('Send')}
            </button>
            {chat.isRunning ? (
              <button type="button" class="button" onClick={chat.stop}>
                {t('Stop')}
              </button>
            ) : null}
            <span class="quiet">
              {estimate ? `${t('{count} tokens in', { count: formatCount(estimate.input_tokens) })} · ` : ''}
              {t('costs at most')} <Amount value={most} short />
              {estimate?.expected_amount ? (
                <>
                  {' · '}
                  {t('typically')} <Amount value={estimate.expected_amount} short />
                </>
              ) : null}
            </span>
          </div>
          {estimate ? <Lines of={estimate} /> : null}
          {estimate?.affordable === false ? <TooDear /> : null}
        </form>
      </Panel>
      <Panel title={t('Code')}>
        <CodeTabs snippets={chatSnippets(model?.id ?? '')} />
      </Panel>
    </div>
  );
}

/** The components of the maximum cost. */
function Lines({ of }: { readonly of: Estimate }) {
  return (
    <p class="small quiet">
      {Object.entries(of.lines).map(([item, most], index) => (
        <span key={item}>
          {index === 0 ? '' : ' + '}
          {t(item.replace('_', ' '))} <Amount value={most} />
        </span>
      ))}
    </p>
  );
}
