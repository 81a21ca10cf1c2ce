/** What an engine may see of our environment: where programs, libraries, GPUs, caches and proxies are. Nothing secret. */
const PASSED_ON =
  /^(PATH|HOME|USER|LANG|LC_\w+|TZ|TMPDIR|LD_LIBRARY_PATH|(HTTPS?|NO|ALL)_PROXY|(https?|no|all)_proxy|CUDA_(HOME|PATH|CACHE_PATH|DEVICE_ORDER)|(CUDA|HIP|ROCR)_VISIBLE_DEVICES|NVIDIA_\w+|HF_HOME|XDG_CACHE_HOME|VIRTUAL_ENV|CONDA_PREFIX|PYTHONUNBUFFERED)$/;

export interface EnginePlace {
  /** What CUDA_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES call the GPU; undefined on a host without. */
  readonly gpu: number | undefined;
  readonly port: number;
}

/** The environment of an engine's process: the harmless part of this process's own, what its entry sets, its GPU and its port. */
export function engineEnvironment(
  ours: Readonly<Record<string, string | undefined>>,
  own: Readonly<Record<string, string>>,
  { gpu, port }: EnginePlace,
): Record<string, string> {
  const passed = Object.entries(ours).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      PASSED_ON.test(entry[0]) &&
      // under ROCm it counts anew what is left, so that our number would be another GPU's
      !(gpu !== undefined && entry[0] === 'ROCR_VISIBLE_DEVICES'),
  );
  return {
    ...Object.fromEntries(passed),
    // Numbers of nvidia-smi are those of the bus; without this CUDA sorts by speed.
    ...(gpu === undefined ? {} : { CUDA_DEVICE_ORDER: 'PCI_BUS_ID' }),
    ...own,
    PORT: String(port),
    ...(gpu === undefined ? {} : { CUDA_VISIBLE_DEVICES: String(gpu), HIP_VISIBLE_DEVICES: String(gpu) }),
  };
}

/** A word of the command with `{port}` and `{gpu}` filled in; without a GPU `{gpu}` is empty. */
export function fillPlace(word: string, { gpu, port }: EnginePlace): string {
  return word.replaceAll('{port}', String(port)).replaceAll('{gpu}', gpu === undefined ? '' : String(gpu));
}
