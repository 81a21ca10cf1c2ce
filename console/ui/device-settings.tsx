import { changeLanguage, changeSettings, useSettings } from '../api/settings.ts';
import { LANGUAGES, type Language, t, useLanguage } from '../lib/text.ts';
import { Choice } from './field.tsx';

/** Settings of this device. */
export function DeviceSettings() {
  const { theme, zone } = useSettings();
  const language = useLanguage();
  return (
    <>
      <Choice
        label={t('Language')}
        value={language}
        options={Object.entries(LANGUAGES)}
        onChange={(next) => void changeLanguage(next as Language)}
      />
      <Choice
        label={t('Theme')}
        value={theme}
        options={[
          ['system', t('Same as system')],
          ['light', t('Light')],
          ['dark', t('Dark')],
        ]}
        onChange={(next) => changeSettings({ theme: next as typeof theme })}
      />
      <Choice
        label={t('Times in')}
        value={zone}
        options={[
          ['local', t('my time zone')],
          ['utc', 'UTC'],
        ]}
        onChange={(next) => changeSettings({ zone: next as typeof zone })}
      />
    </>
  );
}
