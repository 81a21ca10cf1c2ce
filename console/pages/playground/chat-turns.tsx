import { to } from '../../lib/location.ts';
import { formatCount, t } from '../../lib/text.ts';
import { formatDuration } from '../../lib/time.ts';
import { Amount } from '../../ui/amount.tsx';
import { Refused } from './refused.tsx';
import type { Chat, Turn } from './use-chat.ts';

/** The conversation. Answers are rendered as text: nothing in them becomes markup. */
export function ChatTurns({ chat }: { readonly chat: Chat }) {
  if (chat.turns.length === 0) {
    return <p class="quiet turns">{t('Ask something. The answer streams in, with its charge below.')}</p>;
  }
  const last = chat.turns.at(-1);
  return (
    <>
      <ol class="turns" aria-label={t('Conversation')}>
        {chat.turns.map((turn) => (
          <li key={turn.id} class={`turn turn-${turn.role}`}>
            <p class="turn-who">{turn.role === 'user' ? t('You') : t('Model')}</p>
            <p class="turn-text">
              {turn.content}
              {chat.isRunning && turn === last ? <span aria-hidden="true"> ▌</span> : null}
            </p>
            <TurnEnd turn={turn} />
          </li>
        ))}
      </ol>
      <p class="hidden-text" role="status">
        {!chat.isRunning && last?.generation ? t('The answer is complete.') : ''}
      </p>
      {chat.isRunning ? null : (
        <p>
          <button type="button" class="button" onClick={chat.clear}>
            {t('New conversation')}
          </button>
        </p>
      )}
    </>
  );
}

function TurnEnd({ turn: { generation, most, error, isStopped } }: { readonly turn: Turn }) {
  if (error !== undefined) {
    return <Refused error={error} needed={most} />;
  }
  if (!generation) {
    return null;
  }
  return (
    <p class="small quiet">
      {isStopped ? `${t('Stopped.')} ` : ''}
      {t('charged')} <Amount value={generation.charged_amount} /> ({t('at most')}{' '}
      <Amount value={most} short />) ·{' '}
      {t('{count} tokens', { count: formatCount(generation.usage.output_tokens) })}
      {generation.first_token_ms === null
        ? ''
        : ` · ${t('first token after {time}', { time: formatDuration(generation.first_token_ms) })}`}
      {' · '}
      <a href={to('generations', { generation: generation.id })}>{t('Details')}</a>
    </p>
  );
}
