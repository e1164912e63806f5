import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { systemClock } from '../../src/kernel/clock.ts'
import { dataFiles } from '../../src/config.ts'
import { newSecret } from '../../src/kernel/ids.ts'
import { openLocalStore } from '../../src/storage/local/store.ts'
import { resultKey } from '../../src/storage/object-key.ts'
import type { Benchmark } from './figure.ts'
import { type Closers, median, tell, withClosers } from './kit/closers.ts'
import { freePort, startGateway } from './kit/gateway.ts'
import { sized } from './kit/sizes.ts'

/** Downloads of a large object from the gateway's own storage, and of the same bytes from nginx. */

const BYTES = sized(20, 2) * 1024 * 1024
const AT_ONCE = 4
const DOWNLOADS = sized(100, 8)
const ROUNDS = 5
const START_TRIES = 100

/** Serves a folder as its packages set it up, with one worker; it ends with the benchmark. */
async function startNginx(closers: Closers, folder: string): Promise<string> {
  const place = await mkdtemp(join(tmpdir(), 'tollgate-bench-nginx-'))
  const port = await freePort()
  const config = join(place, 'nginx.conf')
  await writeFile(
    config,
    `daemon off; user root; worker_processes 1; pid ${place}/pid; error_log ${place}/errors;
     events { worker_connections 64; }
     http {
       access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000;
       server { listen 127.0.0.1:${port}; location / { root ${folder}; } }
     }`,
  )
  const child = spawn('nginx', ['-p', place, '-c', config], { stdio: 'ignore' })
  const gone = new Promise<void>((resolve, reject) => {
    child.once('exit', () => resolve())
    child.once('error', reject)
  })
  gone.catch(() => undefined)
  closers.later(async () => {
    child.kill('SIGTERM')
    await gone
    await rm(place, { recursive: true, force: true })
  })
  const url = `http://127.0.0.1:${port}`
  for (let tries = 1; ; tries += 1) {
    const up = await fetch(url).then(
      (answer) => answer.body?.cancel().then(() => true) ?? true,
      () => false,
    )
    if (up) return url
    if (child.pid === undefined) await gone
    if (tries === START_TRIES) throw new Error(await readFile(`${place}/errors`, 'utf8'))
    await sleep(50)
  }
}

/** MiB a second over all connections. */
async function rate(url: URL): Promise<number> {
  const pool = new Pool(url.origin, { connections: AT_ONCE })
  const path = `${url.pathname}${url.search}`
  let left = DOWNLOADS
  const download = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const answer = await pool.request({ method: 'GET', path })
      let bytes = 0
      for await (const chunk of answer.body) bytes += (chunk as Buffer).length
      if (answer.statusCode !== 200 || bytes !== BYTES)
        throw new Error(`${answer.statusCode} with ${bytes} bytes`)
    }
  }
  const startedMs = performance.now()
  await Promise.all(Array.from({ length: AT_ONCE }, download))
  const seconds = (performance.now() - startedMs) / 1_000
  await pool.close()
  return (DOWNLOADS * BYTES) / 1024 / 1024 / seconds
}

export const run: Benchmark = () =>
  withClosers(async (closers) => {
    const gateway = closers.add(await startGateway())
    const files = dataFiles(gateway.dataDir)
    const store = await openLocalStore({
      clock: systemClock,
      directory: files.objects,
      secret: await readFile(files.markerSecret, 'utf8'),
      baseUrl: () => gateway.url,
    })
    const key = resultKey(Date.now(), newSecret(''), 'image/png')
    const bytes = Buffer.alloc(BYTES, 'pixels')
    await store.put(key, bytes)
    await writeFile(join(files.objects, 'plain'), bytes)
    const ours = new URL((await store.publicUrl(key, Date.now() + 3_600_000))!)
    const nginx = new URL('plain', `${await startNginx(closers, files.objects)}/`)
    await Promise.all([ours, nginx].map(rate))
    const rates: { readonly ours: number; readonly nginx: number }[] = []
    for (let round = 1; round <= ROUNDS; round += 1) {
      const pair = { ours: await rate(ours), nginx: await rate(nginx) }
      tell(`objects: ${pair.ours.toFixed(0)} and nginx ${pair.nginx.toFixed(0)} MiB/s`)
      rates.push(pair)
    }
    const size = `${BYTES / 1024 / 1024} MiB object, ${AT_ONCE} connections`
    return [
      {
        name: `download of a ${size}, nginx`,
        value: median(rates.map((r) => r.nginx)),
        unit: 'MiB/s',
      },
      { name: `the same, local storage`, value: median(rates.map((r) => r.ours)), unit: 'MiB/s' },
      {
        name: 'local storage over nginx',
        value: median(rates.map((r) => r.ours / r.nginx)),
        unit: '×',
        reach: 0.5,
        note: `median of ${ROUNDS} rounds in turns; the client takes most of a core of its own`,
      },
    ]
  })
