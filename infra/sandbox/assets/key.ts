/**
 * The one key this upstream knows, of an account that has a library in each region. The application
 * names it too (`sandboxLibraryKey`): neither side may import the other, and a test compares them.
 */
export const KNOWN_KEY = {
  accessKeyId: 'AKSANDBOX',
  secretAccessKey: 'SKSANDBOX+secret/==',
} as const

/** The service that signatures are for. */
export const SERVICE = 'ark'

/** Regions as signatures name them, each a library of its own. */
export const REGIONS = ['cn-beijing', 'ap-southeast-1'] as const
export type Region = (typeof REGIONS)[number]
