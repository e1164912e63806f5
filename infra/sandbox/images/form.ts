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
