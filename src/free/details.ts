import { formatBytes } from '../format';
import type { Holder, Kernel, Report } from '../service/wire';
import type { IVramModel } from '../tokens';

/**
 * What is known of a kernel, or of the whole reading without one, as plain text for a bug report.
 *
 * #### Notes
 * Not translated: it is read by those who look into problems. Exact bytes beside GiB.
 *
 * @param application - Name and version of what this runs in.
 * @param report - What a run on the kernel brought.
 */
export function details(
  model: IVramModel,
  application: string,
  kernelId?: string,
  report?: Report
): string {
  const { snapshot, status } = model;
  const lines = [application];
  if (!snapshot) {
    return [...lines, `reading: none (${status})`].join('\n');
  }
  const { driver, problem } = snapshot;
  lines.push(
    `jupyterlab-vram ${snapshot.version}, schema ${snapshot.schema}`,
    `source: ${snapshot.source}, state: ${snapshot.state}, browser: ${status}`,
    `read at: ${new Date(snapshot.taken_at * 1000).toISOString()}`,
    `driver: ${driver.version ?? '—'}, CUDA ${driver.cuda_version ?? '—'}`,
    `processes visible: ${snapshot.views.processes}, sizes: ${snapshot.views.sizes}`
  );
  if (problem) {
    lines.push(
      `problem: ${problem.code}: ${problem.text} ${problem.hint}`,
      ...problem.tried.map(tried => `  tried: ${tried}`)
    );
  }
  for (const gpu of snapshot.gpus) {
    lines.push(
      `GPU ${gpu.index}: ${gpu.name}, ${gpu.uuid}, health ${gpu.health}, ` +
        `used ${size(gpu.memory.used)} of ${size(gpu.memory.total)}`,
      ...Object.entries(gpu.unknown).map(
        ([path, reason]) => `  ${path}: ${reason}`
      )
    );
  }
  const kernel = kernelId === undefined ? null : model.kernel(kernelId);
  if (kernel) {
    lines.push(...kernelLines(kernel));
  } else if (kernelId !== undefined) {
    lines.push(`kernel ${kernelId}: not in this reading`);
  }
  const holders = snapshot.holders.filter(
    holder => kernelId === undefined || holder.kernel_id === kernelId
  );
  lines.push(...holders.map(holderLine));
  lines.push(
    ...snapshot.unattributed.map(
      ({ gpu, bytes, reason }) =>
        `unattributed on ${gpu}: ${size(bytes)}: ${reason}`
    )
  );
  if (report) {
    lines.push(...reportLines(report));
  }
  return lines.join('\n');
}

function reportLines({ steps, freed, remains }: Report): string[] {
  return [
    ...steps.map(
      step =>
        `step ${step.id}: ${step.ok === null ? 'not run' : step.ok ? 'done' : 'failed'}, ` +
        `${size(step.before)} before, ${size(step.after)} after by the ${step.freed_by ?? '—'}, ` +
        `${step.seconds?.toFixed(1) ?? '—'} s; ${step.text ?? '—'}`
    ),
    `freed ${size(freed)}, remains ${size(remains.bytes)}: ${remains.why ?? '—'}`
  ];
}

function kernelLines(kernel: Kernel): string[] {
  return [
    `kernel ${kernel.id}: ${kernel.name} (${kernel.language ?? '—'}), ${kernel.state}, ${kernel.notebook ?? 'no notebook'}`,
    `  process ids: ${kernel.pids.join(', ') || '—'}, holds ${size(kernel.bytes)}`,
    ...Object.entries(kernel.gpus).map(
      ([uuid, bytes]) => `  on ${uuid}: ${size(bytes)}`
    ),
    ...Object.entries(kernel.frameworks).map(
      ([name, use]) =>
        `  ${name}: live ${size(use.live)}, cached ${size(use.cached)}, ` +
        `context ${size(use.context)}, peak ${size(use.peak)}`
    )
  ];
}

function holderLine(holder: Holder): string {
  return (
    `process ${holder.pid} (${holder.name ?? '—'}): ${size(holder.bytes)} on ${holder.gpu}, ` +
    `${holder.kind}, ${holder.role}, size from ${holder.bytes_from ?? '—'}; ${holder.evidence ?? '—'}`
  );
}

function size(bytes: number | null): string {
  return bytes === null
    ? formatBytes(null)
    : `${formatBytes(bytes, { locale: 'en' })} (${bytes} bytes)`;
}
