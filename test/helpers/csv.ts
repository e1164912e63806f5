/**
 * Reads CSV by the grammar of RFC 4180 and nothing beside it: CRLF after each record, quotes around a whole cell or
 * none, and as many cells in each record as in the first. @throws Error naming the place
 */
export function readCsv(text: string): readonly (readonly string[])[] {
  const records: string[][] = []
  let record: string[] = []
  let at = 0
  const fail = (what: string): never => {
    throw new Error(`${what} at ${at} of ${JSON.stringify(text.slice(at - 20, at + 20))}`)
  }
  const quoted = (): string => {
    const parts: string[] = []
    for (at += 1; ;) {
      const end = text.indexOf('"', at)
      if (end < 0) fail('a quote without its end')
      parts.push(text.slice(at, end))
      at = end + 1
      if (text[at] !== '"') return parts.join('')
      parts.push('"')
      at += 1
    }
  }
  const plain = (): string => {
    const [cell = ''] = /^[^",\r\n]*/.exec(text.slice(at, at + 100_000)) ?? []
    at += cell.length
    return cell
  }
  while (at < text.length) {
    record.push(text[at] === '"' ? quoted() : plain())
    if (text[at] === ',') {
      at += 1
      continue
    }
    if (!text.startsWith('\r\n', at)) fail('neither a comma nor CRLF')
    at += 2
    if (record.length !== (records[0] ?? record).length) fail('another number of cells')
    records.push(record)
    record = []
  }
  if (record.length > 0) fail('a record without its end')
  return records
}

/** The records after the header, by the names of its cells. */
export function readTable(text: string): readonly Readonly<Record<string, string>>[] {
  const [header = [], ...records] = readCsv(text)
  return records.map((cells) => Object.fromEntries(header.map((name, n) => [name, cells[n] ?? ''])))
}
