export type EmbeddedService = {
  pid: number;
  port: number;
  /** Whether a server left by an earlier run was taken over as it is. */
  adopted: boolean;
  /** Shuts the server down cleanly; resolves when the process has exited. Throws when it cannot be stopped. */
  stop: () => Promise<void>;
};

export type EmbeddedServiceOptions = {
  dataDir: string;
  logFile: string;
  /** False only for throw-away test servers: trades safety of the data for speed. Default true. */
  durable?: boolean;
  /** Called with a few words of progress for steps that take longer than a moment. */
  onProgress?: (text: string) => void;
};
