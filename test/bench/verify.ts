import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { closeMonth, plainMonth } from '../cli/verify/support/closed-month.ts'
import type { Figure } from './figure.ts'
import { build, compiled } from './kit/build.ts'
import { tell } from './kit/closers.ts'
import { cpuMs } from './kit/cpu.ts'
import { peakMib } from './kit/process.ts'
import { sized, sizeFrom } from './kit/sizes.ts'

/** How long the file that verifies statements takes for all postings of a large month, and how much memory. */

const POSTINGS = sizeFrom('BENCH_VERIFY_POSTINGS', sized(1_000_000, 2_000))
const SKUS = 40
const LOOK_MS = 50
const LINES_A_WRITE = 10_000
const MAX_SECONDS = 25
const MAX_MIB = 200

/** Writes the files of a month; returns the key that signed it. */
function writeMonth(statement: string, postings: string): string {
  const month = closeMonth({
    ...plainMonth,
    lines: POSTINGS - plainMonth.credits.length,
    skus: SKUS,
  })
  writeFileSync(statement, month.statement)
  const fd = openSync(postings, 'w')
  for (let at = 0; at < month.leaves.length; at += LINES_A_WRITE)
    writeSync(fd, `${month.leaves.slice(at, at + LINES_A_WRITE).join('\n')}\n`)
  closeSync(fd)
  return month.vkey
}

async function measure(args: readonly string[]) {
  const startedMs = performance.now()
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const pid = child.pid ?? 0
  let [mib, ms] = [0, 0]
  const looks = setInterval(() => {
    mib = Math.max(mib, peakMib(pid))
    void cpuMs(pid).then((cpu) => (ms = Math.max(ms, cpu['own'] ?? 0)))
  }, LOOK_MS)
  const [code] = (await once(child, 'exit')) as [number | null]
  clearInterval(looks)
  if (code !== 0) throw new Error(`the month does not verify: exit code ${code}`)
  return { mib, cpuSeconds: ms / 1_000, seconds: (performance.now() - startedMs) / 1_000 }
}

export async function run(): Promise<readonly Figure[]> {
  await build()
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-verify-'))
  try {
    const files = [join(folder, 'statement.json'), join(folder, 'postings.ndjson')] as const
    tell(`${POSTINGS} postings are made`)
    const vkey = writeMonth(...files)
    const verifier = compiled('verify').replace(/\.js$/, '.mjs')
    const { mib, cpuSeconds, seconds } = await measure([verifier, ...files, '--key', vkey])
    return [
      {
        name: `verify: ${POSTINGS.toLocaleString('en')} postings`,
        value: cpuSeconds,
        unit: 's of processor time',
        reach: MAX_SECONDS,
        bound: 'most',
        note: `${seconds.toFixed(1)} s in all`,
      },
      {
        name: 'verify: resident memory',
        value: Math.round(mib),
        unit: 'MiB',
        reach: MAX_MIB,
        bound: 'most',
      },
    ]
  } finally {
    rmSync(folder, { recursive: true })
  }
}
