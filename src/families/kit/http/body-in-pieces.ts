/** A body that is never in one piece: what is large in it is not copied. */
export class BodyInPieces {
  readonly contentType: string
  /** Gone through once for each request that is sent. */
  readonly pieces: Iterable<Uint8Array>
  readonly lengthBytes: number

  constructor(contentType: string, pieces: Iterable<Uint8Array>, lengthBytes: number) {
    this.contentType = contentType
    this.pieces = pieces
    this.lengthBytes = lengthBytes
  }
}
