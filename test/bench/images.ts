import { Buffer } from 'node:buffer'
import { Pool } from 'undici'
import { saturate, warmUp } from './chat-load.ts'
import type { Benchmark, Figure } from './figure.ts'
import { tell, withClosers } from './kit/closers.ts'
import { total } from './kit/cpu.ts'
import { IMAGE_MODEL } from './kit/gateway.ts'
import { residentMib, watchMemory } from './kit/process.ts'
import { sized } from './kit/sizes.ts'
import {
  type Row,
  startPassThrough,
  startTollgate,
  startUpstream,
  tryOut,
} from './kit/text-rows.ts'

/**
 * Images that a static upstream answers at once: what a generation with 2 MiB of base64 costs over the
 * bare pass-through, and the memory of eight edits of 30 MiB at the same time.
 */

const CONNECTIONS = 32
const WARM_UP_CALLS = sized(600, 50)
const EDIT_BYTES = sized(30, 2) * 1024 * 1024
const EDITS_AT_ONCE = 8
const MIB = 1024 * 1024

const GENERATION = JSON.stringify({ model: IMAGE_MODEL, prompt: 'a paper boat leaves the quay' })

function asksForImages(row: Row): Row {
  return { ...row, url: new URL('/v1/images/generations', row.url).href, body: GENERATION }
}

/** One edit with a picture of so many bytes, as a form. */
function editForm(boundary: string): Buffer {
  const part = (head: string): string =>
    `--${boundary}\r\ncontent-disposition: form-data; ${head}\r\n\r\n`
  const picture = Buffer.alloc(EDIT_BYTES, 'boat')
  picture.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([
    Buffer.from(`${part('name="model"')}${IMAGE_MODEL}\r\n`),
    Buffer.from(`${part('name="prompt"')}make it red\r\n`),
    Buffer.from(part('name="image"; filename="boat.png"')),
    picture,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ])
}

async function editsAtOnce(row: Row): Promise<readonly Figure[]> {
  const url = new URL('/v1/images/edits', row.url)
  const body = editForm('bench')
  const pool = new Pool(url.origin, { connections: EDITS_AT_ONCE })
  const headers = { ...row.headers, 'content-type': 'multipart/form-data; boundary=bench' }
  const one = async (): Promise<number> => {
    const answer = await pool.request({ method: 'POST', path: url.pathname, headers, body })
    await answer.body.dump({ limit: 64 * MIB })
    return answer.statusCode
  }
  const idleMib = await residentMib(row.pid)
  const memory = watchMemory(row.pid)
  const statuses = await Promise.all(Array.from({ length: EDITS_AT_ONCE }, one))
  const { peakMib } = await memory.end()
  await pool.close()
  const inFlightMib = (EDITS_AT_ONCE * EDIT_BYTES) / MIB
  tell(`edits: ${statuses.join(' ')}, ${idleMib.toFixed(0)} to ${peakMib.toFixed(0)} MiB`)
  return [
    {
      name: `${EDITS_AT_ONCE} edits of ${EDIT_BYTES / MIB} MiB at once, memory over the bytes in flight`,
      value: (peakMib - idleMib) / inFlightMib,
      unit: '×',
      reach: 3,
      bound: 'most',
      note: `${idleMib.toFixed(0)} MiB before, ${peakMib.toFixed(0)} at most; answered ${statuses.join(' ')}`,
    },
  ]
}

export const run: Benchmark = () =>
  withClosers(async (closers) => {
    const upstream = await startUpstream(closers)
    const bare = asksForImages(await startPassThrough(closers, upstream.url))
    const tollgate = await startTollgate(closers, upstream.url)
    await tryOut(tollgate.row)
    const durable = asksForImages(tollgate.row)
    const rows = [bare, durable]
    await warmUp(rows, WARM_UP_CALLS)
    const measured = await saturate(rows, durable, tollgate.gateway, CONNECTIONS, 'images')
    const parts = measured.cpuOf(durable)
    return [
      ...measured.figures(bare),
      {
        name: 'images, processor time of a durable generation over bare’s',
        value: total(parts) / total(measured.cpuOf(bare)),
        unit: '×',
        reach: 2,
        bound: 'most',
        note: Object.entries(parts)
          .map(([part, ms]) => `${part} ${ms.toFixed(3)} ms`)
          .join(', '),
      },
      ...(await editsAtOnce(durable)),
    ]
  })
