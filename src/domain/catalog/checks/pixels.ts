/** The sides of a picture. */
export interface Pixels {
  readonly width: number
  readonly height: number
}

/** `<width>x<height>`, undefined when it is not written like that. */
export function parsePixels(size: string): Pixels | undefined {
  const [, width, height] = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/.exec(size) ?? []
  return width === undefined || height === undefined
    ? undefined
    : { width: Number(width), height: Number(height) }
}
