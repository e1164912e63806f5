import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { exitCodes } from '../../src/cli/exit-codes.ts'
import { checkout } from '../helpers/checkout.ts'
import { systemdAnalyze } from '../helpers/requirements.ts'

const textOf = (path: string): string => readFileSync(new URL(path, checkout), 'utf8')
const unit = textOf('infra/systemd/tollgate@.service')

/** The values of a setting, in the order in which they stand. */
function valuesOf(text: string, setting: string): readonly string[] {
  const lines = text.split('\n').filter((line) => line.startsWith(`${setting}=`))
  return lines.map((line) => line.slice(setting.length + 1))
}

t.test('systemd understands the unit', { skip: systemdAnalyze.missing }, async (t) => {
  const folder = t.testdir()
  const path = join(folder, 'tollgate@.service')
  /** What systemd says of a unit; Node may be elsewhere on this machine. */
  const saidOf = async (text: string): Promise<string> => {
    await writeFile(path, text.replace('/usr/bin/node', process.execPath))
    const verify = promisify(execFile)(systemdAnalyze.path(), ['verify', '--man=no', path])
    return verify.then(
      ({ stderr }) => stderr,
      ({ stderr }: { readonly stderr: string }) => stderr,
    )
  }
  const ofUnit = (said: string) => said.split('\n').filter((line) => line.includes(folder))
  t.same(ofUnit(await saidOf(unit)), [])
  const misspelt = await saidOf(unit.replace('TimeoutStopSec', 'TimeoutStopSecs'))
  t.match(misspelt, /TimeoutStopSecs/, 'a misspelt setting is named')
})

t.test('an end that a restart cannot put right is not followed by one', (t) => {
  const { usage, newer, denied, refused } = exitCodes
  t.same(valuesOf(unit, 'RestartPreventExitStatus'), [[usage, newer, denied, refused].join(' ')])
  t.end()
})

t.test('a stop is given as long as the process may take', (t) => {
  const example = textOf('infra/production.example.env')
  const [delayMs, drainMs] = ['SHUTDOWN_DELAY_MS', 'DRAIN_TIMEOUT_MS'].map((name) =>
    Number(valuesOf(example, name)),
  )
  const neededMs = (delayMs ?? Number.NaN) + (drainMs ?? Number.NaN) + 40_000
  t.ok(Number(valuesOf(unit, 'TimeoutStopSec')) * 1_000 > neededMs, `${neededMs} ms`)
  t.end()
})
