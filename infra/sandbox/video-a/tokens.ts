type Size = readonly [width: number, height: number]

const SIZES: Readonly<Record<string, Readonly<Record<string, Size>>>> = {
  '480p': {
    '16:9': [864, 496],
    '9:16': [496, 864],
    '1:1': [640, 640],
    '4:3': [752, 560],
    '3:4': [560, 752],
    '21:9': [992, 432],
  },
  '720p': {
    '16:9': [1280, 720],
    '9:16': [720, 1280],
    '1:1': [960, 960],
    '4:3': [1112, 834],
    '3:4': [834, 1112],
    '21:9': [1470, 630],
  },
  '1080p': {
    '16:9': [1920, 1088],
    '9:16': [1088, 1920],
    '1:1': [1440, 1440],
    '4:3': [1664, 1248],
    '3:4': [1248, 1664],
    '21:9': [2208, 944],
  },
  '4k': {
    '16:9': [3840, 2160],
    '9:16': [2160, 3840],
    '1:1': [2880, 2880],
    '4:3': [3326, 2494],
    '3:4': [2494, 3326],
    '21:9': [4398, 1886],
  },
}

/** Resolutions this upstream renders. */
export const RESOLUTIONS: readonly string[] = Object.keys(SIZES)

/** Picture ratios; `adaptive` besides. */
export const RATIOS: readonly string[] = Object.keys(SIZES['720p'] ?? {})

/** Width × height × (24 × seconds + 1) / 1024, rounded; `seconds` is output plus reference video. */
export function tokensOf(resolution: string, ratio: string, seconds: number): number {
  const size = SIZES[resolution]?.[ratio]
  if (size === undefined) throw new RangeError(`no size for ${resolution} ${ratio}`)
  return Math.round((size[0] * size[1] * (24 * seconds + 1)) / 1024)
}
