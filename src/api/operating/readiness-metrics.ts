import { Gauge, type Registry } from 'prom-client'
import type { Readiness } from './health.ts'

/** Whether the process is ready, and which of its dependencies answer; read at every scrape, as `/readyz` reads them. */
export function useReadinessMetrics(registry: Registry, readiness: () => Promise<Readiness>): void {
  const ready: Gauge = new Gauge({
    name: 'tollgate_ready',
    help: '1 while new requests should be sent to this process, as /readyz says.',
    registers: [registry],
    async collect() {
      ready.set((await readiness()).ready ? 1 : 0)
    },
  })
  const up: Gauge<'dependency'> = new Gauge({
    name: 'tollgate_dependency_up',
    help: '1 while a dependency answers that the gateway cannot work without.',
    labelNames: ['dependency'],
    registers: [registry],
    async collect() {
      const { dependencies } = await readiness()
      for (const [dependency, state] of Object.entries(dependencies))
        up.set({ dependency }, state === 'up' ? 1 : 0)
    },
  })
}

/** The version of the program, as a label of a gauge that is always 1: a graph shows when it changed. */
export function showVersion(registry: Registry, version: string): void {
  const info = new Gauge({
    name: 'tollgate_info',
    help: '1, with the version of the program and that of Node.',
    labelNames: ['version', 'node'],
    registers: [registry],
  })
  info.set({ version, node: process.version }, 1)
}
