export type RedisSearch = {
  /** Environment for PATH, and for what the package tools need (proxy settings). */
  environment: NodeJS.ProcessEnv;
  /** Folders for downloaded servers, best first; a new one goes to the first writable one. */
  cacheFolders: readonly string[];
  onProgress: (text: string) => void;
};

/**
 * Outcome of one way to get a server: a folder prepared for openRedisFolder, an installed program, or the reason for the failure.
 */
export type RedisFetch = { folder: string } | { command: string } | { reason: string };
