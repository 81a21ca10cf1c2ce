export type RedisSearch = {
  /** For PATH, and for what the package tools need (proxy settings). */
  environment: NodeJS.ProcessEnv;
  /** Folders that keep a fetched server, best first; the first that can be written receives a new one. */
  cacheFolders: readonly string[];
  onProgress: (text: string) => void;
};

/** Outcome of one way to get a server: a folder laid out for openRedisFolder, an installed program, or why not. */
export type RedisFetch = { folder: string } | { command: string } | { reason: string };
