import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { csvStream, toCsv, type CsvRow } from '../../../src/api/kit/csv.ts'

void t.test('cells are quoted as RFC 4180 says', async (t) => {
  t.equal(
    toCsv([
      ['a', 'b c', 'd,e'],
      ['say "hi"', 'two\r\nlines', null],
    ]),
    'a,b c,"d,e"\r\n"say ""hi""","two\r\nlines",\r\n',
  )
})

void t.test('a cell that begins with a full-width sign is made text too', async (t) => {
  for (const sign of '＝＋－＠') t.equal(toCsv([[`${sign}1+1`]]), `'${sign}1+1\r\n`)
})

void t.test('a cell a spreadsheet would run is made text; numbers keep their sign', async (t) => {
  const cells = ['=1+1', '+1', '-1+2', '@cmd', '\tx', '|calc', '%x', '-1.5', 7, -3, 'a=b']
  t.equal(
    toCsv(cells.map((cell) => [cell])),
    "'=1+1\r\n'+1\r\n'-1+2\r\n'@cmd\r\n'\tx\r\n'|calc\r\n'%x\r\n-1.5\r\n7\r\n-3\r\na=b\r\n",
  )
})

async function textOf(pages: AsyncIterable<readonly CsvRow[]>): Promise<string> {
  const parts: string[] = []
  for await (const part of csvStream(['h1', 'h2'], pages)) parts.push(String(part))
  return parts.join('')
}

async function* pagesOf(
  ...pages: readonly (readonly CsvRow[])[]
): AsyncGenerator<readonly CsvRow[]> {
  for (const page of pages) yield await Promise.resolve(page)
}

void t.test('the header comes once, also without rows', async (t) => {
  t.equal(await textOf(pagesOf([['a', 1]], [['b', 2]])), 'h1,h2\r\na,1\r\nb,2\r\n')
  t.equal(await textOf(pagesOf([])), 'h1,h2\r\n')
  t.equal(await textOf(pagesOf()), 'h1,h2\r\n')
})

void t.test('the next page is read only when the last one was taken', async (t) => {
  let read = 0
  async function* endless(): AsyncGenerator<readonly CsvRow[]> {
    for (;;) {
      read += 1
      yield await Promise.resolve([['x', read]])
    }
  }
  const stream = csvStream(['h'], endless())
  stream.once('data', () => stream.pause())
  await sleep(50)
  t.ok(read <= 3, `${read} pages read while the reader takes none`)
  stream.destroy()
})

void t.test('a failure midway destroys the stream', async (t) => {
  async function* failing(): AsyncGenerator<readonly CsvRow[]> {
    yield await Promise.resolve([['a', 1]])
    throw new Error('gone')
  }
  await t.rejects(textOf(failing()), { message: 'gone' })
})
