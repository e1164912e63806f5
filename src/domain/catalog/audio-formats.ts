/** Formats of speech that callers may ask for. */
export const audioFormats = ['mp3', 'pcm', 'flac', 'wav'] as const
export type AudioFormat = (typeof audioFormats)[number]
