import { useEffect } from 'preact/hooks';
import { useRead } from '../../api/queries.ts';
import type { Generation } from '../../api/types.gen.ts';
import { to } from '../../lib/location.ts';
import { formatCount, t } from '../../lib/text.ts';
import { formatDuration } from '../../lib/time.ts';
import { Amount } from '../../ui/amount.tsx';
import { Refused } from './refused.tsx';
import { type Chat, hasEnded, type Turn } from './use-chat.ts';

const LIVE_MS = 2_000;

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
            <TurnEnd turn={turn} settle={chat.settle} />
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

interface TurnEndProps {
  readonly turn: Turn;
  readonly settle: Chat['settle'];
}

function TurnEnd({ turn, settle }: TurnEndProps) {
  const { generation, most, error, isStopped } = turn;
  if (error !== undefined) {
    return <Refused error={error} needed={most} />;
  }
  if (!generation) {
    return isStopped ? <Unsettled turn={turn} settle={settle} /> : null;
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

/** A stopped answer whose charge is not known yet: what a provider bills on is awaited, which may take minutes. */
function Unsettled({ turn: { id, call = '' }, settle }: TurnEndProps) {
  const { data } = useRead<Generation>(
    '/api/v1/generation',
    { id: call },
    { enabled: call !== '', everyMs: LIVE_MS },
  );
  useEffect(() => {
    if (data && hasEnded(data)) {
      settle(id, data);
    }
  }, [data, id]);
  return (
    <p class="small quiet">
      {t('Stopped.')} {t('The charge is known once the provider has ended the call:')}{' '}
      <a href={to('generations')}>{t('Generations')}</a>
    </p>
  );
}
