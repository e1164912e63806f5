/** What is the same of every order that is answered at once, or made by a worker of ours. */

/** How the result comes: whole, whole by URL, as a stream, or asked for later. */
export type Way = 'whole' | 'url' | 'streamed' | 'async'

export interface Order {
  readonly marker: string
  /** External name. */
  readonly model: string
  readonly way: Way
  readonly switches: readonly string[]
  readonly path: string
  /** Its JSON, or the parts of its form. */
  readonly body: Readonly<Record<string, unknown>>
}
