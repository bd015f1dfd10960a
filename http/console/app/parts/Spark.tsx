// Spark is a row of small bars.
export function Spark({ numbers, label }: { numbers: number[]; label: string }) {
  const most = Math.max(1, ...numbers),
    width = 4,
    gap = 2,
    height = 20;
  return (
    <svg class="spark" width={numbers.length * (width + gap)} height={height} role="img" aria-label={label}>
      {numbers.map((n, i) => {
        const tall = n === 0 ? 1 : Math.max(2, Math.round((n / most) * height));
        return <rect key={i} x={i * (width + gap)} y={height - tall} width={width} height={tall} rx={1} />;
      })}
    </svg>
  );
}
