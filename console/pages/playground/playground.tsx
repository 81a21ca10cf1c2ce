import { useRead } from '../../api/queries.ts';
import type { Model } from '../../api/types.gen.ts';
import { to, useQueryState } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { Empty, Loaded } from '../../ui/feedback.tsx';
import { Tabs } from '../../ui/field.tsx';
import { ChatPlayground } from './chat.tsx';
import { MediaPlayground } from './media.tsx';

type Kind = 'chat' | 'image' | 'video';

/** Try a model: shows the maximum cost before and the charge after. */
export function PlaygroundPage() {
  const [kind] = useQueryState('kind', 'chat');
  const models = useRead<readonly Model[]>('/api/v1/models');
  const chosen: Kind = kind === 'image' || kind === 'video' ? kind : 'chat';
  const tabs: [Kind, string][] = [
    ['chat', t('Chat')],
    ['image', t('Image')],
    ['video', t('Video')],
  ];
  return (
    <div class="page">
      <h1 tabIndex={-1}>{t('Playground')}</h1>
      <Tabs
        label={t('What to generate')}
        value={chosen}
        options={tabs.map(([name, text]) => [
          name,
          text,
          to('playground', { kind: name === 'chat' ? '' : name }),
        ])}
      />
      <Loaded reading={models}>
        {(all) => {
          const able = all.filter(({ endpoints }) => endpoints.some((endpoint) => endpoint === chosen));
          if (able.length === 0) {
            return <Empty text={t('No model is available for this.')} />;
          }
          return chosen === 'chat' ? (
            <ChatPlayground models={able} />
          ) : (
            <MediaPlayground key={chosen} kind={chosen} models={able} />
          );
        }}
      </Loaded>
    </div>
  );
}
