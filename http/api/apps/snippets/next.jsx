"use client";

import { usePathname } from "next/navigation";
import { useEffect } from "react";
import { pageView } from "@/lib/svc";

// Put <PageViews /> into the body of app/layout.
export function PageViews() {
  const path = usePathname();
  useEffect(() => { pageView(); }, [path]);
  return null;
}
