import { once } from 'node:events'
import { lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, connect } from 'node:net'
import { dirname } from 'node:path'
import { jsonEvent } from '@eventstore/db-client'
import { Client } from 'pg'
import { openClient } from '../../../src/eventlog/log/connection.ts'

/**
 * Another account of the machine, which knows every path below a data directory and both addresses with their
 * passwords: `other-account.ts UID`. An order on stdin, one line of JSON, is answered with what it could do.
 */

const TRY_MS = 3_000

export interface AttackOrder {
  readonly paths: readonly string[]
  readonly eventStoreUrl: string
  readonly databaseUrl: string
}

/** A file is read and changed, a folder listed and written in; a socket is connected to, and replaced by another. */
async function reach(path: string, kind: 'file' | 'folder' | 'socket'): Promise<string[]> {
  const did: string[] = []
  const attempt = (what: string, run: () => unknown): void => {
    try {
      run()
      did.push(`${what} ${path}`)
    } catch {
      // Refused, as it should be.
    }
  }
  if (kind === 'socket') {
    if (await succeeds(once(connect(path), 'connect'))) did.push(`connected to ${path}`)
    const impostor = createServer()
    if (await succeeds(once(impostor.listen(`${dirname(path)}/impostor`), 'listening')))
      did.push(`listened beside ${path}`)
  } else if (kind === 'folder') {
    attempt('listed', () => readdirSync(path))
    attempt('wrote in', () => writeFileSync(`${path}/planted`, ''))
  } else {
    attempt('read', () => readFileSync(path))
    attempt('wrote', () => writeFileSync(path, '', { flag: 'a' }))
  }
  return did
}

async function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}

async function attack(order: AttackOrder, kinds: readonly Kind[]): Promise<readonly string[]> {
  const did = await Promise.all(order.paths.map((path, at) => reach(path, kinds[at] ?? 'file')))
  const log = openClient(order.eventStoreUrl)
  const event = jsonEvent({ type: 'CreditGranted', data: {} })
  for (const credentials of [undefined, { username: 'admin', password: 'changeit' }]) {
    const options = { deadline: TRY_MS, ...(credentials ? { credentials } : {}) }
    if (await succeeds(log.appendToStream('planted', event, options))) did.push(['appended'])
    const read = async () => {
      for await (const one of log.readAll({ maxCount: 1, ...options }))
        did.push([`read ${one.event?.streamId ?? 'a link'}`])
    }
    await succeeds(read())
  }
  const database = new Client({
    connectionString: order.databaseUrl,
    connectionTimeoutMillis: TRY_MS,
  })
  database.on('error', () => undefined)
  if (await succeeds(database.connect())) did.push(['ran a statement'])
  return did.flat()
}

type Kind = 'file' | 'folder' | 'socket'

function kindOf(path: string): Kind {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found?.isSocket() === true) return 'socket'
  return found?.isDirectory() === true ? 'folder' : 'file'
}

let text = ''
for await (const chunk of process.stdin.setEncoding('utf8')) text += String(chunk)
const order = JSON.parse(text) as AttackOrder
// All is loaded, and the kinds are known, while this account may still read them.
const kinds = order.paths.map(kindOf)
const account = Number(process.argv[2])
process.setgroups?.([])
process.setgid?.(account)
process.setuid?.(account)
process.stdout.write(
  `${JSON.stringify({ as: process.getuid?.(), did: await attack(order, kinds) })}\n`,
)
process.exit(0)
