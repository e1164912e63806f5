import { supervisePostgres } from '../../../../infra/embedded/postgres/supervised.ts'

/** A process that stands for the gateway, to be killed: supervises Postgres on `ROOT` and prints its address. SIGTERM stops it in order. */

const [root = ''] = process.argv.slice(2)
const postgres = supervisePostgres({ root, log: () => undefined })
process.on('SIGTERM', () => void postgres.stop().then(() => process.exit(0)))
const { url } = await postgres.ready
process.stdout.write(`${url}\n`)
