import type { FfmpegPaths } from '../embedded/ffmpeg.ts';
import { ALLOCATOR_SETTINGS } from './programs.ts';
import type { Services } from './services.ts';
import type { SupervisorSettings } from './settings.ts';

/** Returns the environment of API and worker: the given one, with every setting resolved. */
export function processEnvironment(
  given: NodeJS.ProcessEnv,
  resolved: {
    settings: SupervisorSettings;
    services: Services;
    secret: string;
    ffmpeg: FfmpegPaths;
    adminToken: string;
  },
): NodeJS.ProcessEnv {
  const { settings, services } = resolved;
  const environment: NodeJS.ProcessEnv = {
    ...ALLOCATOR_SETTINGS,
    ...given,
    PORT: String(settings.port),
    HOST: settings.host,
    DATABASE_URL: services.postgres?.databaseUrl ?? settings.databaseUrl,
    REDIS_URL: services.redis?.redisUrl ?? settings.redisUrl,
    DATA_DIR: settings.dataDir,
    TOLLGATE_CONFIG: settings.configFile,
    PUBLIC_URL: settings.publicUrl,
    TOLLGATE_SECRET: resolved.secret,
    ADMIN_TOKEN: resolved.adminToken,
    FFMPEG_PATH: resolved.ffmpeg.ffmpeg,
    FFPROBE_PATH: resolved.ffmpeg.ffprobe,
  };
  // Serving requests and running jobs needs no permission to change the schema.
  delete environment.DATABASE_OWNER_URL;
  return environment;
}

/** Returns the same environment with the owner's database URL: for migrations and the first start only. */
export function ownerEnvironment(
  base: NodeJS.ProcessEnv,
  settings: SupervisorSettings,
  services: Services,
): NodeJS.ProcessEnv {
  return { ...base, DATABASE_OWNER_URL: services.postgres?.ownerUrl ?? settings.ownerUrl };
}
