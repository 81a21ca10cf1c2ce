export type EmbeddedService = {
  pid: number;
  port: number;
  /** True when a server left over from an earlier run was taken over as it is. */
  adopted: boolean;
  /** Shuts the server down cleanly; resolves when the process is gone. Throws when it cannot be stopped. */
  stop: () => Promise<void>;
};

export type EmbeddedServiceOptions = {
  dataDir: string;
  logFile: string;
  /** False only for throw-away test servers: trades safety of the data for speed. Default true. */
  durable?: boolean;
  /** Told what is going on, in a few words, for steps that take longer than a moment. */
  onProgress?: (text: string) => void;
};
