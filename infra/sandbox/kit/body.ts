/** A JSON object of unknown members. */
export type Fields = Readonly<Record<string, unknown>>

export const NO_FIELDS: Fields = {}

/** Whether a value is a JSON object. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The JSON objects in a value that should be a list of them; everything else is left out. */
export function objectsIn(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : []
}

/** A member that is a text, or null. */
export function textIn(fields: Fields, name: string): string | null {
  const value = fields[name]
  return typeof value === 'string' ? value : null
}

/** A member that is a number, or null. */
export function numberIn(fields: Fields, name: string): number | null {
  const value = fields[name]
  return typeof value === 'number' ? value : null
}

/** The value of a JSON text; undefined for none. */
function jsonOf(body: unknown): unknown {
  try {
    return JSON.parse(Buffer.isBuffer(body) ? body.toString('utf8') : '')
  } catch {
    return undefined
  }
}

/** A body as a JSON object, or null. */
export function jsonBody(body: unknown): Fields | null {
  const value = jsonOf(body)
  return isFields(value) ? value : null
}

/** A body as a JSON object. @throws what `refuse` makes for what is no JSON, or no object. */
export function objectBody(body: unknown, refuse: (isJson: boolean) => Error): Fields {
  const value = jsonOf(body)
  if (isFields(value)) return value
  throw refuse(value !== undefined)
}

/** A body of `multipart/form-data`, read whole. */
export interface ReadForm {
  readonly texts: ReadonlyMap<string, string>
  readonly files: readonly {
    readonly name: string
    readonly filename: string
    readonly type: string
    readonly bytes: Buffer
  }[]
}

/** Reads a form; null when it is none. */
export async function readForm(body: unknown, contentType: string): Promise<ReadForm | null> {
  if (!Buffer.isBuffer(body) || !contentType.startsWith('multipart/form-data')) return null
  try {
    const form = await new Response(body, { headers: { 'content-type': contentType } }).formData()
    const texts = new Map<string, string>()
    const files: { name: string; filename: string; type: string; bytes: Buffer }[] = []
    for (const [name, value] of form)
      if (typeof value === 'string') texts.set(name, value)
      else {
        const bytes = Buffer.from(await value.arrayBuffer())
        files.push({ name, filename: value.name, type: value.type, bytes })
      }
    return { texts, files }
  } catch {
    return null
  }
}
