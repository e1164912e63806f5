/** Where things are kept; each is a library of its own. */
export const regions = ['domestic', 'overseas'] as const
export type Region = (typeof regions)[number]

/** The model that says where a thing is to be kept. */
export function modelOf(region: Region): string {
  return `${region}-video-2-0`
}
